import io

from resumed.daemon.cli.answers import parse
from resumed.daemon.cli.asking import Asker
from resumed.daemon.cli.paper import Paper
from resumed.protocol.restore import Answer, Answers, Question
from tests.support.reports import NEVER_ASKED, ON_ANOTHER_BRANCH, changed_file, question


class Typing:
    """A person at a terminal who types these lines, and what they saw."""

    def __init__(self, *lines: str, given: tuple[str, ...] = ()) -> None:
        self._stream = io.StringIO()
        self.asker = Asker(
            Paper(self._stream, 80), io.StringIO("".join(f"{line}\n" for line in lines)), parse(given)
        )

    async def answer(self, asked: Question) -> Answers:
        return await self.asker.ask(asked)

    @property
    def saw(self) -> str:
        return self._stream.getvalue()


async def test_enter_takes_what_is_suggested() -> None:
    person = Typing("")
    answers = await person.answer(question(ON_ANOTHER_BRANCH))
    assert answers == Answers(answers={ON_ANOTHER_BRANCH.id: Answer(choice="newWorktree")})
    assert "1 of 2  You are on a different branch\n" in person.saw
    assert person.saw.endswith("Choose [1]   d diff   w why   q leave everything as it is ")


async def test_a_number_takes_its_choice() -> None:
    answers = await Typing("3").answer(question(ON_ANOTHER_BRANCH))
    assert answers.answers == {ON_ANOTHER_BRANCH.id: Answer(choice="stay")}


async def test_what_is_not_possible_is_not_taken_and_says_why() -> None:
    person = Typing("2", "3")
    answers = await person.answer(question(ON_ANOTHER_BRANCH))
    assert answers.answers[ON_ANOTHER_BRANCH.id].choice == "stay"
    assert "Not possible yet: README.md is uncommitted." in person.saw


async def test_anything_else_is_asked_again() -> None:
    person = Typing("9", "0", "yes", "²", "3")
    await person.answer(question(ON_ANOTHER_BRANCH))
    assert person.saw.count("Type a number from 1 to 4, or d, w or q.") == 4


async def test_d_and_w_show_more_and_ask_again() -> None:
    person = Typing("d", "w", "")
    await person.answer(question(ON_ANOTHER_BRANCH))
    assert "when it stopped         here, now\n" in person.saw
    assert "With nobody to ask: it is left as it is.\n" in person.saw
    assert person.saw.count("Choose [1]") == 3


async def test_a_word_must_be_typed_exactly() -> None:
    person = Typing("2", "Skip", "2", "skip")
    answers = await person.answer(question(NEVER_ASKED))
    assert answers.answers == {NEVER_ASKED.id: Answer(choice="never", typed="skip")}
    assert "Not chosen." in person.saw


async def test_enter_instead_of_the_word_goes_back() -> None:
    answers = await Typing("2", "", "1").answer(question(NEVER_ASKED))
    assert answers.answers == {NEVER_ASKED.id: Answer(choice="onRequest")}


async def test_leaving_takes_back_what_was_answered_before() -> None:
    both = question(ON_ANOTHER_BRANCH, NEVER_ASKED)
    assert await Typing("3", "q").answer(both) == Answers(cancelled=True)
    assert await Typing("3").answer(both) == Answers(cancelled=True)
    assert await Typing().answer(both) == Answers(cancelled=True)
    assert await Typing("3", "2").answer(both) == Answers(cancelled=True)


async def test_a_round_is_asked_one_after_the_other_and_sent_together() -> None:
    person = Typing("3", "1")
    answers = await person.answer(question(ON_ANOTHER_BRANCH, NEVER_ASKED, round_number=2))
    assert set(answers.answers) == {ON_ANOTHER_BRANCH.id, NEVER_ASKED.id}
    assert "1 of 2  You are" in person.saw
    assert "2 of 2  Last time" in person.saw


async def test_questions_are_counted_over_the_rounds() -> None:
    person = Typing("3", "1")
    await person.answer(question(ON_ANOTHER_BRANCH))
    await person.answer(question(NEVER_ASKED, round_number=2))
    assert "1 of 2  You are" in person.saw
    assert "2 of 2  Last time" in person.saw


async def test_just_reading_ends_the_round() -> None:
    answers = await Typing("4").answer(question(ON_ANOTHER_BRANCH, NEVER_ASKED))
    assert answers == Answers(answers={ON_ANOTHER_BRANCH.id: Answer(choice="readOnly")})


async def test_files_alike_can_be_answered_at_once() -> None:
    files = tuple(changed_file(name) for name in ("a", "b", "c"))
    person = Typing("1", "a")
    answers = await person.answer(question(*files, round_number=2))
    assert answers.answers == {file.id: Answer(choice="keep") for file in files}
    assert "a Keep it as it is for all 3" in person.saw
    assert "a Keep it as it is for all 2" in person.saw


async def test_a_is_nothing_where_nothing_is_alike() -> None:
    person = Typing("a", "1")
    await person.answer(question(changed_file("a")))
    assert "Type a number" in person.saw


async def test_given_answers_are_not_asked() -> None:
    person = Typing("1", given=("worktree.branchDiffers=stay",))
    answers = await person.answer(question(ON_ANOTHER_BRANCH, NEVER_ASKED, round_number=2))
    assert answers.answers[ON_ANOTHER_BRANCH.id] == Answer(choice="stay")
    assert "You are on a different branch. Stay on main and tell the agent (as given)." in person.saw
    assert "2 of 2  Last time" in person.saw


async def test_a_given_answer_that_cannot_be_taken_leaves_everything_as_it_is() -> None:
    person = Typing("1", "1", given=("worktree.branchDiffers=switch",))
    assert await person.answer(question(ON_ANOTHER_BRANCH)) == Answers(cancelled=True)
    assert person.asker.failure is not None
    assert "README.md is uncommitted" in person.asker.failure.sentence
    assert person.saw == ""


async def test_a_given_answer_without_its_word_says_how_to_give_it() -> None:
    person = Typing("1", given=("permissions.neverAsk=never",))
    assert await person.answer(question(NEVER_ASKED)) == Answers(cancelled=True)
    assert person.asker.failure is not None
    assert person.asker.failure.hint.endswith("--answer permissions.neverAsk=never:skip")


def test_only_enter_consents() -> None:
    assert Typing("").asker.confirm("Start it as it is?")
    assert not Typing("q").asker.confirm("Start it as it is?")
    assert not Typing("y").asker.confirm("Start it as it is?")
    assert not Typing().asker.confirm("Start it as it is?")
