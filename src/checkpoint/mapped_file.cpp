// Opens, checks and maps a file.
#include "checkpoint/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "isentropic/error.hpp"

namespace isentropic::checkpoint {
namespace {

class Descriptor {
 public:
  // O_NONBLOCK: does not wait for the writer of a pipe, which is then rejected.
  explicit Descriptor(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

MappedFile map_file(const std::string& path, const std::string& expected) {
  const Descriptor file(path);
  if (file.number() < 0) {
    if (errno == ENOENT) throw Error(path, "missing", expected);
    throw Error(path, std::string("not readable (") + std::strerror(errno) + ")", expected);
  }
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) throw Error(path, "not readable", expected);
  if (S_ISDIR(status.st_mode)) throw Error(path, "a directory", expected);
  if (!S_ISREG(status.st_mode)) throw Error(path, "not a regular file", expected);
  if (status.st_size == 0) throw Error(path, "empty", expected);

  const auto size = static_cast<std::size_t>(status.st_size);
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (start == MAP_FAILED)
    throw Error(path, std::string("not possible to map (") + std::strerror(errno) + ")", expected);
  std::shared_ptr<const void> owner(start, [size](void* mapped) { ::munmap(mapped, size); });
  return {{static_cast<const std::byte*>(start), size}, std::move(owner)};
}

}  // namespace isentropic::checkpoint
