// safetensors_copy FROM TO: opens a checkpoint, writes all its tensors into one file, and lists them.
#include <cstdio>
#include <exception>

#include "checkpoint/checkpoint.hpp"

int main(int count, char** arguments) {
  using namespace isentropic::checkpoint;
  if (count != 3) {
    std::fprintf(stderr, "usage: %s FROM TO\n", arguments[0]);
    return 2;
  }
  try {
    const Checkpoint checkpoint = Checkpoint::open(arguments[1]);
    std::vector<StoredTensor> tensors;
    for (const std::string& name : checkpoint.names()) tensors.push_back(checkpoint.tensor(name));
    write_safetensors(arguments[2], tensors, checkpoint.metadata());
    for (const StoredTensor& tensor : tensors)
      std::printf("%s %s %s\n", tensor.name.c_str(), std::string(name(tensor.type)).c_str(),
                  isentropic::to_string(tensor.shape).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
