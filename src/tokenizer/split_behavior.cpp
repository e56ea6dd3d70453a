// The names of the behaviours.
#include "tokenizer/split_behavior.hpp"

namespace isentropic::tokenizer {

SplitBehavior read_split_behavior(const Field& field) {
  const std::string& name = field.string();
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  field.refuse("Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

}  // namespace isentropic::tokenizer
