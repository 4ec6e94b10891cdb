// stream and prefetch: what is said of memory traffic and changes no value. Neither asks for
// legality; both stay with what they were said of, a computation's elements or one of its loops.
#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"

#include <algorithm>

namespace tilewright {

namespace {

bool reads(const Computation &computation, const std::string &array) {
  bool found = false;
  for (const Piece &piece : computation.pieces) {
    visit(piece.value, [&](const ExprPtr &node) {
      found = found || (node->kind == ExprKind::Access && node->producer->name == array);
    });
  }
  return found;
}

} // namespace

void stream_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(0, 0, "stream()");
  if (instance_space(**state.function->find(command.computation)).reduced > 0) {
    refuse(command, command.computation +
                        " is a reduction, whose elements are read again for each term; let it "
                        "add up elsewhere first: cache(\"" +
                        command.computation + "\", ...)");
  }
  state.streamed.insert(command.computation);
}

void prefetch_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(2, 3, "prefetch(A, i, distance=1)");
  const std::string array = arguments.name(0, "the array");
  TimeSpaceMap &map = state.time_space.at(command.computation);
  LoopDimension &loop = map.dimensions[find_loop(map, arguments.name(1, "the loop"), command)];
  const std::int64_t distance = arguments.size() > 2 ? arguments.any_integer(2, "the distance") : 1;
  constexpr std::int64_t farthest = 1 << 20;
  if (distance == 0 || distance > farthest || distance < -farthest) {
    refuse(command, "the distance must be a number of iterations between 1 and " +
                        std::to_string(farthest) + " (negative: backwards), got " +
                        std::to_string(distance));
  }
  if (!reads(**state.function->find(command.computation), array)) {
    refuse(command, command.computation + " does not read '" + array + "'");
  }
  if (loop.tag.tag == Tag::Vector || loop.tag.tag == Tag::Unroll) {
    refuse(command, "the iterations of loop '" + loop.name +
                        "' are one piece of code (it is a vector loop or unrolled); prefetch for "
                        "later iterations of a loop around it");
  }
  std::erase_if(loop.prefetches, [&](const Prefetch &one) { return one.array == array; });
  loop.prefetches.push_back({array, distance});
}

} // namespace tilewright
