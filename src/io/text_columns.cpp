// Converts the cells of a column to numbers: as numbers, booleans or categories.
#include "io/text_columns.hpp"

#include <cmath>
#include <limits>

#include "io/cells.hpp"
#include "io/formats.hpp"
#include "isentropic/error.hpp"

namespace isentropic::io {

const char* TextColumn::read(std::string_view cell, const Options& options, double* out) {
  if (is_missing(cell)) {
    *out = std::numeric_limits<double>::quiet_NaN();
    return options.missing == Missing::dropped ? nullptr : "";
  }
  const std::optional<double> number = number_in(cell);
  const std::optional<bool> truth = truth_in(cell);
  if (kind_ == Kind::unknown)
    kind_ = number || options.content == Content::numbers ? Kind::number : truth ? Kind::truth : Kind::text;
  switch (kind_) {
    case Kind::truth:
      *out = truth.value_or(false) ? 1 : 0;
      return truth ? nullptr : "True or False, as in the lines above";
    case Kind::text:
      *out = number_of_.try_emplace(std::string(cell), static_cast<double>(number_of_.size())).first->second;
      return number ? "text, as in the lines above" : nullptr;
    default:
      *out = number.value_or(0);
      return number && std::isfinite(*number) ? nullptr : "a finite number";
  }
}

void TextColumn::refuse(std::string_view cell, const char* expected, const std::string& place, const Options& options) {
  if (is_missing(cell)) refuse_missing(place, shown(cell), options);
  throw Error(place, shown(cell), expected);
}

}  // namespace isentropic::io
