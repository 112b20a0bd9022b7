"""Time expressions of dialogue: what is found, what it means, and what must not be found."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulemem.dates import (
    TimeMention,
    find_times,
    overlaps,
    parse_timestamp,
    render_when,
    resolve_query_times,
)
from rulemem.types import When

MONDAY = datetime(2023, 5, 8, 13, 56)
TOKYO = timezone(timedelta(hours=9))


def _at(text: str) -> datetime | None:
    return None if text == "-" else datetime.fromisoformat(text)


def _plain(marked: str) -> str:
    return marked.replace("[", "").replace("]", "")


def _only(text: str, said_at: datetime | None) -> TimeMention:
    mentions = find_times(text, said_at)
    assert len(mentions) == 1, mentions
    return mentions[0]


# sentence with the [words found] | start | end ("-": open) | precision; all said on MONDAY
TABLE = """\
# days near the speaker
I baked two loaves [yesterday]. | 2023-05-07 | 2023-05-08 | day
[Today] was quiet at work. | 2023-05-08 | 2023-05-09 | day
Let's fix the fence [tomorrow]! | 2023-05-09 | 2023-05-10 | day
He called [the day before yesterday]. | 2023-05-06 | 2023-05-07 | day
Our ferry goes [the day after tomorrow]. | 2023-05-10 | 2023-05-11 | day
I'll stew some beans [tonight]. | 2023-05-08T18:00 | 2023-05-09 | day
I barely slept [last night]. | 2023-05-07T18:00 | 2023-05-08 | day
We argued [the night before last]. | 2023-05-06T18:00 | 2023-05-07 | day
[Yesterday evening] we rowed out. | 2023-05-07T18:00 | 2023-05-08 | day
I planted leeks [this morning]. | 2023-05-08T05:00 | 2023-05-08T12:00 | day
# weekdays
We met [last Friday]. | 2023-05-05 | 2023-05-06 | day
My car broke down [last fri] on the hill. | 2023-05-05 | 2023-05-06 | day
I got paid [last Monday]. | 2023-05-01 | 2023-05-02 | day
I sold it [the Friday before last]. | 2023-04-28 | 2023-04-29 | day
It rained on [Friday]. | 2023-05-05 | 2023-05-06 | day
I'm meeting her on [Friday]. | 2023-05-12 | 2023-05-13 | day
How about [Friday] at 5? | 2023-05-12 | 2023-05-13 | day
I'll see the vet [next Tuesday]. | 2023-05-09 | 2023-05-10 | day
[This past Saturday] we hiked. | 2023-05-06 | 2023-05-07 | day
We race [this Saturday]. | 2023-05-13 | 2023-05-14 | day
She danced on [Friday night]. | 2023-05-05T18:00 | 2023-05-06 | day
[Two Fridays ago] I fell. | 2023-04-28 | 2023-04-29 | day
He moves out on [Tuesday of next week]. | 2023-05-16 | 2023-05-17 | day
It ends [a week from Friday]. | 2023-05-19 | 2023-05-20 | day
# weeks and weekends
[Last week] was wild. | 2023-05-01 | 2023-05-08 | week
I start a course [next week]. | 2023-05-15 | 2023-05-22 | week
[This week] is busy. | 2023-05-08 | 2023-05-15 | week
We shopped [the week before last]. | 2023-04-24 | 2023-05-01 | week
The fair was [the week of 23 August]. | 2022-08-22 | 2022-08-29 | week
She spoke [the week before 9 June]. | 2022-05-30 | 2022-06-06 | week
[Two weekends ago] we camped. | 2023-04-29 | 2023-05-01 | span
We camp [this weekend]. | 2023-05-13 | 2023-05-15 | span
We camped [this weekend] and it poured. | 2023-05-06 | 2023-05-08 | span
I painted [last weekend]. | 2023-05-06 | 2023-05-08 | span
We fly [next weekend]. | 2023-05-20 | 2023-05-22 | span
I read over [the weekend]. | 2023-05-06 | 2023-05-08 | span
# months, seasons, years
I quit [last month]. | 2023-04-01 | 2023-05-01 | month
The show opens [next month]. | 2023-06-01 | 2023-07-01 | month
It broke [the month before last]. | 2023-03-01 | 2023-04-01 | month
We moved in [June]. | 2022-06-01 | 2022-07-01 | month
We will move in [June]. | 2023-06-01 | 2023-07-01 | month
They wed [last December]. | 2022-12-01 | 2023-01-01 | month
It all began in [August last year]. | 2022-08-01 | 2022-09-01 | month
We swam a lot [last summer]. | 2022-06-01 | 2022-09-01 | season
I'm walking the coast [this summer]. | 2023-06-01 | 2023-09-01 | season
We went ice fishing in [the winter]. | 2022-12-01 | 2023-03-01 | season
[Two summers ago] we sailed. | 2021-06-01 | 2021-09-01 | season
I adopted her [last year]. | 2022-01-01 | 2023-01-01 | year
We'll build [next year]. | 2024-01-01 | 2025-01-01 | year
# counted
I saw an owl [two days ago]. | 2023-05-06 | 2023-05-07 | day
It hatched [twenty-three days ago]. | 2023-04-15 | 2023-04-16 | day
I joined [three weeks ago]. | 2023-04-17 | 2023-04-24 | week
He left [two months ago]. | 2023-03-01 | 2023-04-01 | month
I turned eighteen [ten years ago]. | 2013-01-01 | 2014-01-01 | year
It opened [1 year and 2 months ago]. | 2022-03-01 | 2022-04-01 | month
[A year and a half ago] we met. | 2021-10-01 | 2022-01-01 | span
[A few days ago] I ran. | 2023-05-02 | 2023-05-07 | span
I found it [a few weeks back]. | 2023-03-27 | 2023-05-01 | span
We met [a couple of days ago]. | 2023-05-05 | 2023-05-07 | span
I saw him [the other day]. | 2023-04-24 | 2023-05-08 | span
I sneezed [10 minutes ago]. | 2023-05-08T13:46 | 2023-05-08T13:47 | minute
He rang [two hours ago]. | 2023-05-08T11:26 | 2023-05-08T12:26 | span
I'm leaving [in 10 minutes]. | 2023-05-08T14:06 | 2023-05-08T14:07 | minute
The exam is [in three days]. | 2023-05-11 | 2023-05-12 | day
I'll retire [in two years]. | 2025-01-01 | 2026-01-01 | year
It's due [3 weeks from now]. | 2023-05-29 | 2023-06-05 | week
I wrote 17 songs in [the past two weeks]. | 2023-04-24 | 2023-05-09 | span
I'll rest [for the next three days]. | 2023-05-08 | 2023-05-12 | span
I've slept badly over [the past week]. | 2023-05-01 | 2023-05-09 | span
# open
I've lived here [since 2016]. | 2016-01-01 | - | year
I've rowed [since last summer]. | 2022-06-01 | - | season
I've been carving [for three years now]. | 2020-01-01 | - | year
We've been married [for 5 years]. | 2018-01-01 | - | year
She's been ill [for the past three weeks]. | 2023-04-17 | - | week
The road is shut [until June 2023]. | - | 2023-07-01 | month
I had a beard [before 2019]. | - | 2019-01-01 | year
He wrote [after 3 May 2021]. | 2021-05-04 | - | day
# written out
It was on [12 May 2021]. | 2021-05-12 | 2021-05-13 | day
[May 12th, 2021] was hot. | 2021-05-12 | 2021-05-13 | day
It fell on [the third of August, 2020]. | 2020-08-03 | 2020-08-04 | day
He came on [Tuesday, 3 August 2021]. | 2021-08-03 | 2021-08-04 | day
The stamp says [2021-05-12]. | 2021-05-12 | 2021-05-13 | day
It is dated [13/05/2021]. | 2021-05-13 | 2021-05-14 | day
We met on [3 May]. | 2023-05-03 | 2023-05-04 | day
We met on [May 20th]. | 2022-05-20 | 2022-05-21 | day
I plan to return on [July 20]. | 2023-07-20 | 2023-07-21 | day
It arrived on [3/22]. | 2023-03-22 | 2023-03-23 | day
I got it on [the 3rd]. | 2023-05-03 | 2023-05-04 | day
It came on [the 15th of last month]. | 2023-04-15 | 2023-04-16 | day
He left in [March 2020]. | 2020-03-01 | 2020-04-01 | month
It was [summer 2022]. | 2022-06-01 | 2022-09-01 | season
In [1993] they wed. | 1993-01-01 | 1994-01-01 | year
I grew up in the [nineties]. | 1990-01-01 | 2000-01-01 | span
She wore a [1970s] dress. | 1970-01-01 | 1980-01-01 | span
# parts
We moved [mid-May]. | 2023-05-11 | 2023-05-21 | span
It began in [early 2020]. | 2020-01-01 | 2020-05-01 | span
I quit at [the end of last month]. | 2023-04-21 | 2023-05-01 | span
He camped in [the first week of April 2022]. | 2022-04-01 | 2022-04-08 | span
He raced on [the last Friday of June 2022]. | 2022-06-24 | 2022-06-25 | day
We hiked [the first weekend of August 2022]. | 2022-08-06 | 2022-08-08 | span
I must finish [before the end of the year]. | - | 2024-01-01 | span
# ranges
It ran [from May to July 2022]. | 2022-05-01 | 2022-08-01 | span
I studied [from 2010 to 2014]. | 2010-01-01 | 2015-01-01 | span
The fair was [June 3-5, 2022]. | 2022-06-03 | 2022-06-06 | span
It happened [between October 19 and 24, 2022]. | 2022-10-19 | 2022-10-25 | span
I worked [from Monday to Friday]. | 2023-05-01 | 2023-05-06 | span
# relative to another date
He rang [two days before 9 June 2022]. | 2022-06-07 | 2022-06-08 | day
It was [the Friday after 22 October 2022]. | 2022-10-28 | 2022-10-29 | day
They came [the weekend before 24 October 2022]. | 2022-10-22 | 2022-10-24 | span
# time of day
We met at [8 pm on 3 March 2024]. | 2024-03-03T20:00 | 2024-03-03T20:01 | minute
The call is at [8 pm]. | 2023-05-08T20:00 | 2023-05-08T20:01 | minute
He left [yesterday at 7:30 a.m.] | 2023-05-07T07:30 | 2023-05-07T07:31 | minute
Dinner is [tonight at 8]. | 2023-05-08T20:00 | 2023-05-08T20:01 | minute
# holidays
We baked over the [holidays]. | 2022-12-20 | 2023-01-03 | span
I dressed up [last Halloween]. | 2022-10-31 | 2022-11-01 | day
He proposed on [Valentine's Day]. | 2023-02-14 | 2023-02-15 | day
We ate at mum's on [Thanksgiving]. | 2022-11-24 | 2022-11-25 | day
# more
We met on [the morning of 4 June 2021]. | 2021-06-04T05:00 | 2021-06-04T12:00 | day
We race on [Wed, 10 May]. | 2023-05-10 | 2023-05-11 | day
I went with her [last weekend before 10 April 2022]. | 2022-04-02 | 2022-04-04 | span
I was there [from 8 am to 5 pm on Friday]. | 2023-05-05T08:00 | 2023-05-05T17:00 | span
[Christmas 2022] was snowy. | 2022-12-25 | 2022-12-26 | day
[2016]. | 2016-01-01 | 2017-01-01 | year
I have a class on [Thursday]. | 2023-05-11 | 2023-05-12 | day
"""
ON_MONDAY = [tuple(line.split(" | ")) for line in TABLE.splitlines() if line[0] != "#"]


@pytest.mark.parametrize(("marked", "start", "end", "precision"), ON_MONDAY)
def test_expressions(marked: str, start: str, end: str, precision: str) -> None:
    """An expression in a sentence is found, resolved against its turn, at its own precision."""
    mention = _only(_plain(marked), MONDAY)
    words = marked[marked.index("[") + 1 : marked.index("]")]
    when = mention.when
    assert (_at(start), _at(end), precision, words) == (
        when.start,
        when.end,
        when.precision,
        when.raw,
    )
    assert marked.index("[") == mention.start
    assert len(words) == mention.end - mention.start


AT_EDGES = [
    ("I ran last Friday.", "2023-05-12T09:00", "2023-05-05", "2023-05-06"),  # said on a Friday
    ("I ran on Friday.", "2023-05-12T09:00", "2023-05-05", "2023-05-06"),
    ("I'll run next Friday.", "2023-05-12T09:00", "2023-05-19", "2023-05-20"),
    ("I ran last weekend.", "2023-05-14T09:00", "2023-05-06", "2023-05-08"),  # said on a Sunday
    ("I ran over the weekend.", "2023-05-14T09:00", "2023-05-13", "2023-05-15"),
    ("I ran last week.", "2023-05-14T09:00", "2023-05-08", "2023-05-15"),
    ("I ran yesterday.", "2024-01-01T00:05", "2023-12-31", "2024-01-01"),  # new year
    ("I ran last month.", "2024-01-15T09:00", "2023-12-01", "2024-01-01"),
    ("I ran last week.", "2024-01-03T09:00", "2023-12-25", "2024-01-01"),
    ("I'll run next month.", "2023-12-31T09:00", "2024-01-01", "2024-02-01"),
    ("I'll run next year.", "2023-12-31T23:59", "2024-01-01", "2025-01-01"),
    ("I ran last winter.", "2023-01-10T09:00", "2021-12-01", "2022-03-01"),  # winter goes on
    ("I'm running this winter.", "2023-01-10T09:00", "2022-12-01", "2023-03-01"),
    ("I ran last summer.", "2023-10-17T09:00", "2023-06-01", "2023-09-01"),
    ("I ran last summer.", "2023-07-17T09:00", "2022-06-01", "2022-09-01"),
    ("I ran in December.", "2023-01-05T09:00", "2022-12-01", "2023-01-01"),
    ("I'll run in January.", "2023-12-20T09:00", "2024-01-01", "2024-02-01"),
    ("I ran yesterday.", "2024-03-01T09:00", "2024-02-29", "2024-03-01"),  # leap day
    ("I ran on 29 February.", "2023-05-08T09:00", "2020-02-29", "2020-03-01"),
    ("I ran on 29 February 2024.", "2024-05-08T09:00", "2024-02-29", "2024-03-01"),
    ("I ran a year ago.", "2024-02-29T09:00", "2023-01-01", "2024-01-01"),
    ("I ran one month ago.", "2023-03-31T09:00", "2023-02-01", "2023-03-01"),
    ("I ran on the 31st.", "2023-05-08T09:00", "2023-03-31", "2023-04-01"),  # April has 30 days
    ("I ran over Christmas.", "2023-12-25T09:00", "2023-12-24", "2023-12-27"),
]


@pytest.mark.parametrize(("text", "said_at", "start", "end"), AT_EDGES)
def test_edges_of_the_calendar(text: str, said_at: str, start: str, end: str) -> None:
    """Year boundaries, leap days, short months and the day itself resolve by the calendar."""
    when = _only(text, _at(said_at)).when
    assert (_at(start), _at(end)) == (when.start, when.end)


NOTHING = [
    "I may go out with them.",
    "You may have 3 of these.",
    "It may be the best one yet.",
    "We march every step of the way.",
    "It was a long march 5 miles through mud.",
    "One second, please.",
    "Give me a sec.",
    "A second chance is all I ask.",
    "The 3 of us walked home.",
    "The sun was warm on my face.",
    "She sat down next to me.",
    "They wed in a tiny chapel.",
    "I'm 30 and happy.",
    "We drove along route 66.",
    "The shop is open 24/7.",
    "Half of it is mine.",
    "I'm fine now.",
    "I'll be there soon.",
    "One day I'd like to sail.",
    "I take it one day at a time.",
    "Monday blues are real.",
    "He made 20 points in 35 attempts.",
    "I paid 2000 dollars for it.",
    "About 1950 people came.",
    "Have a great day!",
    "How was your week?",
    "How long ago was that?",
    "We met between 2 and 4 pm.",
    "I swim there every Friday.",
    "We play cards on Mondays.",
    "I usually wake up at 7 am.",
    "She's the last person I'd ask.",
    "What's next for you?",
    "It took three days.",
    "I finished the book in two days.",
    "I was away for a week.",
    "The odds were 3/4 and we lost 3:2.",
    "Version 1.2.3 is out.",
    "My number is 555-0199.",
    "I run twice in a week.",
    "June said hi to April.",
    "My daughter May is lovely.",
    "Fall leaves are so pretty.",
    "I love swimming in summer clothes.",
    "He had a spring in his step.",
    "I'll be back in a minute.",
    "Good night and good morning!",
    "It's a 1968 guitar.",
    "It's been a few days since we spoke.",
    "",
    "   ",
    "\x00\ud800 🎉 شكرا",
]


@pytest.mark.parametrize("text", NOTHING)
@pytest.mark.parametrize("said_at", [MONDAY, None], ids=["dated", "undated"])
def test_no_time_is_found_where_there_is_none(text: str, said_at: datetime | None) -> None:
    """Verbs, names, counts, durations, habits and idioms are not taken for times."""
    assert find_times(text, said_at) == []


UNKNOWN = [
    ("I travelled a lot in my twenties.", "in my twenties"),
    ("I fell off when I was ten.", "when I was ten"),
    ("We met a long time ago.", "a long time ago"),
    ("He was born on 30 February 2023.", "30 February 2023"),
    ("It came on 31 June.", "31 June"),
    ("It is dated 31/04/2023.", "31/04/2023"),
    ("It is dated 2023-02-29.", "2023-02-29"),
    ("It arrived on 5/8.", "5/8"),  # 5 August or 8 May
]


@pytest.mark.parametrize(("text", "words"), UNKNOWN)
def test_unknown_times_keep_their_words(text: str, words: str) -> None:
    """Dates that do not exist and times off the calendar are kept as words, never guessed."""
    assert When(raw=words) == _only(text, MONDAY).when


@pytest.mark.parametrize(
    "text",
    [
        "I ran yesterday.",
        "I ran last Friday.",
        "I ran three weeks ago.",
        "I ran in June.",
        "I ran on 3 May.",
        "The call is at 8 pm.",
        "I've run since last summer.",
        "I ran at the end of last month.",
        "I ran from Monday to Friday.",
        "I've been running for three years now.",
    ],
)
def test_relative_times_without_a_date_are_unknown(text: str) -> None:
    """An undated turn leaves relative times unknown, with their words; never "now"."""
    dated, undated = _only(text, MONDAY), _only(text, None)
    assert When(raw=dated.when.raw) == undated.when


@pytest.mark.parametrize(
    ("text", "start", "precision"),
    [
        ("It was on 12 May 2021.", "2021-05-12", "day"),
        ("I've lived here since 2016.", "2016-01-01", "year"),
        ("It ran from May to July 2022.", "2022-05-01", "span"),
        ("I was born in the nineties.", "1990-01-01", "span"),
        ("It was the week before 9 June 2022.", "2022-05-30", "week"),
        ("We met at 8 pm on 3 March 2024.", "2024-03-03T20:00", "minute"),
    ],
)
def test_written_dates_need_no_date_of_the_turn(text: str, start: str, precision: str) -> None:
    """Absolute times are resolved in an undated turn too."""
    when = _only(text, None).when
    assert (_at(start), precision) == (when.start, when.precision)


@pytest.mark.parametrize("text", [_plain(row[0]) for row in ON_MONDAY])
def test_the_offset_of_the_turn_is_carried(text: str) -> None:
    """Said at +09:00, every result is the same wall-clock time, at +09:00."""
    naive = _only(text, MONDAY).when
    aware = _only(text, MONDAY.replace(tzinfo=TOKYO)).when
    for plain, zoned in ((naive.start, aware.start), (naive.end, aware.end)):
        assert (plain.replace(tzinfo=TOKYO) if plain else None) == zoned
        assert zoned is None or zoned.utcoffset() == timedelta(hours=9)


def test_daylight_saving_does_not_move_results() -> None:
    """Across a change of clocks a day is still from midnight to midnight."""
    berlin = ZoneInfo("Europe/Berlin")
    when = _only("I ran yesterday.", datetime(2023, 3, 27, 9, tzinfo=berlin)).when
    assert datetime(2023, 3, 26, tzinfo=berlin) == when.start
    assert datetime(2023, 3, 27, tzinfo=berlin) == when.end


def test_a_time_of_day_goes_to_the_day_of_its_sentence() -> None:
    """A clock time apart from the only day that is named belongs to that day."""
    day, clock = find_times("On Saturday my aunt and I met at 8 pm.", MONDAY)
    assert (day.when.raw, clock.when.raw) == ("Saturday", "8 pm")
    assert datetime(2023, 5, 6, 20) == clock.when.start


def test_several_times_come_in_order_and_apart() -> None:
    """Mentions are sorted and never overlap."""
    text = "Last week I ran; two days ago I swam, and since 2016 I row every day at the lake."
    mentions = find_times(text, MONDAY)
    assert [m.when.raw for m in mentions] == ["Last week", "two days ago", "since 2016"]
    assert all(first.end <= second.start for first, second in pairwise(mentions))


def test_offsets_hold_in_text_with_odd_characters() -> None:
    """Spans count characters of the text as given, whatever comes before them."""
    text = "İ ﬁ 🎉\u00a0I ran\u00a0last\u00a0Friday\u2019s race"
    mention = _only(text, MONDAY)
    assert text[mention.start : mention.end] == "last\u00a0Friday"
    assert datetime(2023, 5, 5) == mention.when.start


@pytest.mark.parametrize("said_at", [datetime.min, datetime.max])
def test_the_ends_of_the_calendar_are_unknown(said_at: datetime) -> None:
    """What lies beyond the first and the last year is unknown, not an error."""
    mentions = find_times("I ran 900 years ago and we'll meet in 900 years.", said_at)
    assert "unknown" in {mention.when.precision for mention in mentions}


# --- rendering ---------------------------------------------------------------------------------

RENDERED = [
    ("I ran yesterday.", "7 May 2023"),
    ("I ran three weeks ago.", "the week of 17 April 2023"),
    ("I ran in June.", "June 2022"),
    ("I ran last summer.", "summer 2022"),
    ("I ran ten years ago.", "2013"),
    ("I've run since 2016.", "since 2016"),
    ("I've run since last summer.", "since summer 2022"),
    ("I've run for the past three weeks.", "since the week of 17 April 2023"),
    ("I ran until June 2021.", "until June 2021"),
    ("I ran before 9 June 2021.", "until 8 June 2021"),
    ("I ran until summer 2021.", "until summer 2021"),
    ("I ran at 8 pm on 3 March 2024.", "8 pm on 3 March 2024"),
    ("I ran at 1:05 am on 3 March 2024.", "1:05 am on 3 March 2024"),
    ("I ran yesterday evening.", "the evening of 7 May 2023"),
    ("I ran yesterday morning.", "the morning of 7 May 2023"),
    ("I ran last weekend.", "the weekend of 6 May 2023"),
    ("I ran a few days ago.", "between 2 and 6 May 2023"),
    ("I ran a few weeks ago.", "between 27 March and 30 April 2023"),
    ("I ran over the holidays.", "between 20 December 2022 and 2 January 2023"),
    ("I ran in early 2020.", "between January and April 2020"),
    ("I ran from 2010 to 2014.", "between 2010 and 2014"),
    ("I ran at the end of the summer of 2021.", "August 2021"),
    ("I ran two hours ago.", "between 11:26 am and 12:26 pm on 8 May 2023"),
    ("I ran in my twenties.", "in my twenties"),
]


@pytest.mark.parametrize(("text", "words"), RENDERED)
def test_rendering_is_as_precise_as_the_words(text: str, words: str) -> None:
    """A time is stated at its own precision, in words of our own."""
    assert words == render_when(_only(text, MONDAY).when)


def test_rendering_an_empty_time_gives_its_words() -> None:
    """Without bounds there is nothing to state but the words."""
    assert render_when(When()) == ""
    assert render_when(When(precision="day", raw="once")) == "once"


# --- questions ---------------------------------------------------------------------------------


def test_a_question_follows_its_own_date() -> None:
    """The same question asked on two dates asks about two weeks."""
    question = "What happened last week?"
    first = resolve_query_times(question, MONDAY)
    second = resolve_query_times(question, MONDAY + timedelta(weeks=5))
    assert [datetime(2023, 5, 1)] == [when.start for when in first]
    assert [datetime(2023, 6, 5)] == [when.start for when in second]


def test_a_relative_question_without_a_date_is_unknown() -> None:
    """An unresolvable time in a question is reported, not dropped: dropped it would mean all."""
    assert [When(raw="last week")] == resolve_query_times("What happened last week?", None)


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What did she do in June 2023?", "2023-06-01", "2023-07-01"),
        ("Who came to dinner on 3 May?", "2023-05-03", "2023-05-04"),
        ("Where was he between August 11 and August 15 2022?", "2022-08-11", "2022-08-16"),
        ("Where was she in the last week of August 2022?", "2022-08-25", "2022-09-01"),
        ("What class did he join in mid-August 2022?", "2022-08-11", "2022-08-21"),
        ("What will she do next month?", "2023-06-01", "2023-07-01"),
        ("What has he done since 2016?", "2016-01-01", "-"),
    ],
)
def test_times_of_questions(question: str, start: str, end: str) -> None:
    """The time that a question asks about is resolved against the date of the question."""
    [when] = resolve_query_times(question, MONDAY)
    assert (_at(start), _at(end)) == (when.start, when.end)


def test_a_question_without_a_time_has_none() -> None:
    """No time asked about is an empty list, unlike an unknown one."""
    assert resolve_query_times("Who is the tallest?", MONDAY) == []


# --- overlap -----------------------------------------------------------------------------------


def test_overlap() -> None:
    """Half-open intervals share an instant or not; an open end reaches for ever."""
    may = When(start=datetime(2023, 5, 1), end=datetime(2023, 6, 1), precision="month")
    june = When(start=datetime(2023, 6, 1), end=datetime(2023, 7, 1), precision="month")
    since = When(start=datetime(2016, 1, 1), precision="year")
    until = When(end=datetime(2023, 6, 1), precision="month")
    assert overlaps(may, may) is True
    assert overlaps(may, june) is False
    assert overlaps(june, since) is True
    assert overlaps(until, june) is False
    assert overlaps(until, since) is True


def test_overlap_with_the_unknown_is_unknown() -> None:
    """Where either side is unknown there is no answer."""
    may = When(start=datetime(2023, 5, 1), end=datetime(2023, 6, 1), precision="month")
    assert overlaps(may, When(raw="once")) is None
    assert overlaps(When(precision="day"), may) is None


def test_overlap_of_naive_and_aware_times_compares_wall_clocks() -> None:
    """A naive time and one with an offset can be compared."""
    naive = When(start=datetime(2023, 5, 1), end=datetime(2023, 5, 2), precision="day")
    start = datetime(2023, 5, 1, 23, tzinfo=TOKYO)
    aware = When(start=start, end=start + timedelta(minutes=1), precision="minute")
    assert overlaps(naive, aware) is True


# --- timestamps --------------------------------------------------------------------------------

STAMPS = [
    ("1:56 pm on 8 May, 2023", "2023-05-08T13:56"),
    ("12:09 am on 13 September, 2023", "2023-09-13T00:09"),
    ("12:30 pm on 3 Jan 2024", "2024-01-03T12:30"),
    ("2022/11/17 (Thu) 12:04", "2022-11-17T12:04"),
    ("2023-05-08", "2023-05-08"),
    ("2023-05-08 13:56", "2023-05-08T13:56"),
    ("2023-05-08T13:56:07.25", "2023-05-08T13:56:07.250"),
    ("2023-05-08T13:56:00Z", "2023-05-08T13:56+00:00"),
    ("2023-05-08T13:56:00+09:00", "2023-05-08T13:56+09:00"),
    ("2023-05-08 13:56 -03:30", "2023-05-08T13:56-03:30"),
    ("Mon, 8 May 2023 13:56:00 +0900", "2023-05-08T13:56+09:00"),
    ("8 May 2023 13:56 GMT", "2023-05-08T13:56+00:00"),
    ("May 8, 2023 1:56 PM EST", "2023-05-08T18:56+00:00"),
    ("08/05/2023 14:03", "2023-05-08T14:03"),
    ("05/13/2023, 2:03 PM", "2023-05-13T14:03"),
    ("08.05.2023, 14:03", "2023-05-08T14:03"),
    ("[12/05/23, 20:31:07]", "2023-05-12T20:31:07"),
    ("5/12/23, 8:31\u202fPM", "2023-12-05T20:31"),
    ("29 February 2024", "2024-02-29"),
    ("1683554160", "2023-05-08T13:56+00:00"),
    ("1683554160000", "2023-05-08T13:56+00:00"),
    (1683554160, "2023-05-08T13:56+00:00"),
    (1683554160500, "2023-05-08T13:56:00.500+00:00"),
]


@pytest.mark.parametrize(("stamp", "expected"), STAMPS)
def test_timestamps(stamp: str | int, expected: str) -> None:
    """Stamps are read as written: naive stays naive, an offset is kept."""
    found = parse_timestamp(stamp)
    assert found is not None
    assert datetime.fromisoformat(expected) == found
    assert datetime.fromisoformat(expected).utcoffset() == found.utcoffset()


@pytest.mark.parametrize(
    "stamp",
    [
        "",
        "   ",
        "30 February 2023",
        "1:56 pm on 30 February, 2023",
        "29 Feb 2023",
        "2023-02-30",
        "31/04/2023",
        "13/13/2023",
        "0000-00-00",
        "25:00 on 8 May 2023",
        "13 pm on 8 May 2023",
        "8 May",
        "May 2023",
        "1:56 pm",
        "yesterday",
        "3 days ago",
        "now",
        "8 Mai 2023",
        "Call me on 8 May 2023",
        "8 May 2023 +99:99",
        "42",
        "x" * 500,
        "\x00",
        "\ud800",
        True,
        -5,
        7,
        float("nan"),
        float("inf"),
        10**30,
    ],
)
def test_what_is_no_timestamp_is_none(stamp: str | int) -> None:
    """Dates that do not exist, dates without a day, relative words and noise give None."""
    assert parse_timestamp(stamp) is None


# --- the machine must not leak in ---------------------------------------------------------------

_PROBE = """
import locale, sys
from datetime import datetime
try:
    locale.setlocale(locale.LC_ALL, "")
except locale.Error:
    pass
from rulemem.dates import find_times, parse_timestamp, render_when
for line in sys.stdin:
    for said_at in (datetime(2023, 5, 8, 13, 56), None):
        for mention in find_times(line, said_at):
            print(mention, render_when(mention.when))
for stamp in ("1:56 pm on 8 May, 2023", "1683554160", "08/05/2023 14:03"):
    print(repr(parse_timestamp(stamp)))
"""


def test_zone_and_locale_of_the_machine_change_nothing() -> None:
    """Whatever TZ and LC_ALL say, the output is the same to the letter."""
    text = "\n".join(_plain(row[0]) for row in ON_MONDAY)
    outputs = []
    for zone, tongue in (("UTC", "C"), ("Asia/Tokyo", "de_DE.UTF-8"), ("America/St_Johns", "C")):
        env = {**os.environ, "TZ": zone, "LC_ALL": tongue, "PYTHONUTF8": "1"}
        done = subprocess.run(
            [sys.executable, "-c", _PROBE], input=text, env=env, capture_output=True, text=True
        )
        assert done.stderr == ""
        outputs.append(done.stdout)
    assert len(outputs[0].splitlines()) > len(ON_MONDAY)
    assert outputs[0] == outputs[1] == outputs[2]


def test_the_library_is_loaded_only_when_needed() -> None:
    """Importing the module and reading a sentence without a time does not import dateparser."""
    code = (
        "import sys, datetime; from rulemem.dates import find_times;"
        "find_times('I may go.', datetime.datetime(2023, 5, 8)); print('dateparser' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_speed() -> None:
    """A sentence without a time is nearly free, one with a time takes a few milliseconds."""
    plain = "I finally fixed the old boat with my neighbour and it floats, can you believe it?"
    timed = "Two weeks ago we fixed the boat, and on 3 May we rowed it out with the neighbours."
    find_times(timed, MONDAY)  # loads the library
    for text, budget in ((plain, 0.001), (timed, 0.010)):
        start = time.process_time()
        for _ in range(50):
            find_times(text, MONDAY)
        assert (time.process_time() - start) / 50 < 5 * budget  # slack for a slow machine


# --- invariants ---------------------------------------------------------------------------------

_MOMENTS = st.datetimes(min_value=datetime(1950, 1, 1), max_value=datetime(2090, 1, 1))
_SENTENCES = st.sampled_from([_plain(row[0]) for row in (*ON_MONDAY, *AT_EDGES, *RENDERED)])
_WEEKLY = st.sampled_from(
    [
        "I ran yesterday.",
        "I ran last Friday.",
        "I ran the Friday before last.",
        "I ran on Tuesday.",
        "I'll run next Sunday.",
        "I ran last week.",
        "I ran two weekends ago.",
        "I ran a few days ago.",
        "I ran three weeks ago.",
        "I ran last night at 9 pm.",
        "I'm running this weekend.",
        "I ran from Monday to Friday.",
    ]
)


@settings(deadline=None, max_examples=150)
@given(_SENTENCES, _MOMENTS)
def test_an_interval_starts_before_it_ends(text: str, said_at: datetime) -> None:
    """Whenever it is said, a resolved interval is not empty."""
    for mention in find_times(text, said_at):
        if mention.when.start is not None and mention.when.end is not None:
            assert mention.when.start < mention.when.end


@settings(deadline=None, max_examples=100)
@given(_WEEKLY, _MOMENTS, st.integers(min_value=1, max_value=500))
def test_weeks_later_is_weeks_later(text: str, said_at: datetime, weeks: int) -> None:
    """What is relative to the week moves by whole weeks with the turn."""
    later = timedelta(weeks=weeks)
    now, then = _only(text, said_at).when, _only(text, said_at + later).when
    assert now.start is not None and now.end is not None
    assert (now.start + later, now.end + later) == (then.start, then.end)


@settings(deadline=None, max_examples=300)
@given(
    st.none() | st.datetimes() | st.datetimes(timezones=st.just(UTC)),
    st.none() | st.datetimes() | st.datetimes(timezones=st.just(TOKYO)),
    st.sampled_from(["minute", "day", "week", "month", "season", "year", "span", "unknown"]),
    st.text(max_size=8),
)
def test_rendering_never_fails(
    start: datetime | None, end: datetime | None, precision: str, raw: str
) -> None:
    """Any time can be rendered, and a known one says something."""
    when = When(start=start, end=end, precision=precision, raw=raw)  # type: ignore[arg-type]
    words = render_when(when)
    assert words or not raw


_NOISE = st.lists(
    st.sampled_from(
        [
            *("last", "next", "this", "the", "of", "3", "12", "May", "Friday", "week", "summer"),
            *("in", "on", "at", "since", "until", "ago", "a", "few", "two", "before", "after"),
            *("between", "and", "to", "2023", "pm", ",", ".", "-", "weeks", "days", "early"),
            *("end", "yesterday", "may", "29", "February", "first", "for", "now", "from"),
        ]
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=300)
@given(_NOISE, _MOMENTS)
def test_any_heap_of_words_is_survived(words: list[str], said_at: datetime) -> None:
    """Mentions of any text are in order, apart, inside the text, and quote it."""
    text = " ".join(words)
    mentions = find_times(text, said_at)
    assert all(m.when.raw == text[m.start : m.end] != "" for m in mentions)
    assert all(first.end <= second.start for first, second in pairwise(mentions))
    assert [m.when.raw for m in mentions] == [m.when.raw for m in find_times(text, None)]


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=40) | st.integers() | st.floats())
def test_any_stamp_is_read_or_refused(stamp: str | int | float) -> None:
    """No input makes the reader of timestamps fail."""
    found = parse_timestamp(stamp)
    assert found is None or isinstance(found, datetime)
