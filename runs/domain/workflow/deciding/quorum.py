"""Whether enough have agreed: so many people, or so many of each group."""

from collections.abc import Mapping, Sequence


def missing(needs: Mapping[str, int], seats: Sequence[frozenset[str]]) -> dict[str, int]:
    """How many of each group are still needed; each seat counts for one of its groups only.

    Whoever is in two groups counts where they are needed more.
    """
    slots = [group for group, count in needs.items() for _ in range(count)]
    taken: dict[int, int] = {}  # slots, by whom they are filled

    def find_place(person: int, tried: set[int]) -> bool:
        for slot, group in enumerate(slots):
            if group not in seats[person] or slot in tried:
                continue
            tried.add(slot)
            if slot not in taken or find_place(taken[slot], tried):
                taken[slot] = person
                return True
        return False

    for person in range(len(seats)):
        find_place(person, set())
    still: dict[str, int] = {}
    for slot, group in enumerate(slots):
        if slot not in taken:
            still[group] = still.get(group, 0) + 1
    return still
