"""A store of long memories, to measure noise where bodies have 1,000 to 3,000 characters.

usage: long_store.py FOLDER

Writes memories.jsonl, related.jsonl and unrelated.jsonl. Each memory has a core of its own, written
by hand, in the midst of what long memories are full of: sentences that any project could have, with
names of files and commands. Each has one prompt that concerns it. The seed is fixed.
"""

import argparse
import json
import random
import re
from pathlib import Path

LEAST_CHARS, MOST_CHARS = 1_000, 3_000

# name | description | core sentences, separated by " / " | a prompt that concerns it
TOPICS = """
Conveyor sensors debounce in firmware|Photo eyes on the conveyor need 40 ms of debounce before they count a parcel|The photo eyes flicker when a shiny wrap passes, so the conveyor counted one parcel three times. / Debounce lives in firmware, not in the counting service. / Raise it above 60 ms and fast totes are missed.|the conveyor counts some parcels twice, where do I filter the photo eye signal
Tariff engine rounds per line|Shipping tariffs are rounded per invoice line, never on the total|The tariff engine multiplies weight class by zone and rounds half up per line. / Customs audits compare the lines, and a rounded total once cost a refund of nine thousand euros. / Zone 7 has no weight class below two kilograms.|write the tariff calculation for zone 7 shipments
Audio mixdown must stay at 48 kHz|The mixdown pipeline keeps 48 kHz until mastering; resampling earlier makes aliasing|Stems arrive at 44.1 or 96 kHz and are converted once, by the mastering step. / The limiter was tuned at 48 kHz, and its look-ahead is counted in samples. / Dither only at the very end.|should the mixdown resample the stems before the limiter
Grafting trees share a read lock|The orchard grafting tables are read under a shared advisory lock|Two season planners wrote the same rootstock rows in March and half the grafting plan vanished. / Readers take lock 4117 shared, planners take it exclusive. / A stuck planner is killed after ninety seconds.|the season planner hangs on the rootstock tables
Telescope dome closes on humidity|The dome controller closes above 85 percent humidity even during an exposure|Condensation ruined a mirror coating in the first winter. / Nobody overrides the dome by script; the observer on duty has a key switch. / The humidity probe on the north wall reads three points low.|can the nightly script keep the dome open when humidity is high
Payroll export wants semicolons|The payroll office imports only semicolon CSV with a byte order mark|Their importer is an old spreadsheet macro and splits on semicolons. / Decimal commas, dates as day.month.year. / The file must be there before the 23rd at noon.|generate the payroll csv export for this month
Ferry timetable has two winters|The ferry timetable switches twice: ice winter and calm winter differ|From December the ferries skip Torsholm when the ice service is on. / The timetable generator takes the season from the harbour office feed, not from the calendar. / Calm winter keeps the evening departure.|why does the ferry timetable skip Torsholm today
Barcode labels print at 203 dpi|Label printers in the depot have 203 dpi heads, so modules are whole dots|A module of 0.33 mm fell between dots and scanners refused one label in twenty. / Use three dots per module for Code 128. / The freezer printers need the heavier ribbon.|labels from the depot printer cannot be scanned, check the barcode size
Sheet music parser keeps ties|Ties across barlines must survive the import of sheet music|The parser dropped ties at barlines, and held notes were struck twice in playback. / Slurs and ties look alike in the old files: a tie joins equal pitches. / The choir edition has hand-made exceptions.|playback strikes the held note again after the barline
Greenhouse vents follow the dew point|Vents open by dew point difference, not by temperature alone|Tomato mould came back when vents followed temperature. / The controller wants a dew point two degrees below the leaf sensor. / Night purge runs at four for six minutes.|tune when the greenhouse vents open at night
Translations are frozen on Wednesdays|Strings may not change between Wednesday noon and the weekly release|The agency in Porto gets the string catalogue on Wednesday at twelve. / A changed key after that ships untranslated. / Emergency wording goes through Ilda.|rename these two string keys in the catalogue before the release
Chess engine tablebases are mapped|Endgame tablebases are memory-mapped and never read through the cache|Reading them through the page buffer evicted the opening book. / The six-piece set lives on the slow disk, which is fine with mapping. / Probing stops below depth four.|tablebase probing makes the engine slow in the endgame
Invoice numbers have no gaps|Invoice numbers come from one sequence without gaps, by law|The tax office wants consecutive numbers per year. / A failed invoice is cancelled with a credit note and keeps its number. / No caching on that sequence.|can we reserve invoice numbers in blocks of fifty
Drone logs are in flight time|Drone telemetry timestamps are flight time since arming, not wall clock|The logger has no clock when the satellite fix is late. / Align by the arming event, which the ground station stamps. / Battery voltage sags mark the takeoff.|plot drone battery voltage against wall clock time
Map tiles stop at zoom 16|Our map tiles are rendered to zoom 16; deeper levels are overzoomed in the client|Zoom 17 doubled the storage bill for nothing that hikers noticed. / Contours are simplified at 14. / The hillshade layer is separate and may be missing abroad.|render the hiking map tiles one zoom level deeper
Library loans use the reading room calendar|Due dates of loans skip days when the reading room is closed|The calendar table has closed days by branch. / A loan that ends on a closed day moves to the next open one. / Inter-library loans ignore all that and use the lender's date.|loan due date falls on a day the branch is closed
Firmware images are signed offline|Firmware signing happens on the laptop in the safe, not in the pipeline|The key never touches a networked machine. / The pipeline leaves an unsigned image and its digest, and Rasmus signs on Thursdays. / A dev key exists for boards marked yellow.|let the pipeline sign the firmware image automatically
Kiln curves are stored as segments|Kiln firing curves are stored as ramp and hold segments|Sampling the curve per minute made editing impossible. / A segment has a rate in degrees per hour, a target and a hold. / Glaze firings need a slow last segment.|store the firing curve that the potter draws in the kiln app
Vaccination reminders skip weekends|Reminders for vaccinations go out on weekdays at nine local time|The clinic phones are closed on weekends and people called in vain. / Local time is that of the animal's home, not of the clinic. / Rabies boosters get two reminders.|send the booster reminders on Saturday too
Weather radar gaps are not zero|A missing radar cell means unknown, not dry|The nowcast treated gaps behind the mountain as dry and missed a flood warning. / Gaps carry the value -32768. / Interpolate in time, never across the ridge.|how should the nowcast treat empty radar cells
Subtitles are cut at clauses|Subtitle lines are split at clause ends and hold at least 1.2 seconds|Viewers complained about lines that end in an article. / Two lines of 37 characters. / The reading speed limit is 17 characters per second for children's programmes.|split long subtitle lines better
Elevator dispatch favours the lobby|Idle lifts return to the lobby between seven and ten|Morning queues halved after that change. / The third car parks at the canteen before noon. / Fire mode overrides everything and is certified: do not touch it.|change where idle lifts park in the morning
Recipe units are grams inside|Recipes are stored in grams and converted for display|Cups differ by country and broke the shopping list. / Flour has its own density table by type. / Eggs stay pieces.|add cup measures to the recipe shopping list
Museum scans keep colour targets|Every scan of a painting has a colour target in frame, cropped only at export|Without the target a restorer cannot trust the reds. / Crop boxes are stored beside the scan. / The big scanner needs half an hour to warm up.|crop the colour target out of the painting scans
Tax rules are dated rows|Tax rates are rows with validity dates; code has no rates|The rate changed twice in one year and old invoices were recomputed wrongly. / Look up by the delivery date. / Reverse charge is a rule, not a rate.|set the new tax rate starting in July
Sensor buoys sleep between tides|Buoys sample around high and low water only, to save the battery|The solar panel covers eleven minutes of radio a day. / Tide tables are uploaded each spring. / A storm flag wakes them every ten minutes.|make the buoys report every ten minutes
Crossword grids are symmetric|Grids have half-turn symmetry and no two-letter words|The editor rejects anything else without reading. / Thirty-eight black squares at most. / The Saturday grid may break symmetry for a theme.|the grid generator should allow two letter words
Bus displays cache the last arrival|Displays at stops keep the last known arrival for three minutes when the link is lost|A blank display brings phone calls; a wrong one brings complaints. / After three minutes they show the printed timetable. / The modem reconnects with a random wait.|what do stop displays show while the link is down
Blood samples are keyed by tube|Results belong to the tube, not the patient visit|A visit has several tubes and one may be drawn again. / Tube codes are reused after two years. / A recollected tube supersedes the first one.|join lab results to the patient visit
Ski lift counters count skis|Lift counters see skis, so snowboards count once and children twice|The correction factor per lift comes from a manual count each January. / Never compare two lifts without the factor. / The gate at Nordhang has a heater fault.|compare visitor counts of the two ski lifts
Knitting charts read right to left|Odd rows of knitting charts are read from the right|The exporter mirrored cables. / Wrong-side rows flip knit and purl symbols. / Round charts always read from the right.|cables come out mirrored in the exported knitting chart
Water meters roll over|Old water meters roll over at 99,999 and negative usage is a rollover|Billing refunded a family four hundred cubic metres. / A replaced meter also looks like that: check the serial. / Readings come by radio at night.|customer has negative water usage in the bill
Auction bids close softly|A bid in the last two minutes extends the auction by two minutes|Sniping drove away half the sellers. / The extension is counted on the server clock. / Charity lots close hard.|end auctions exactly at the posted second
Braille output uses six dots|Braille embossers get six-dot codes; eight dots only on displays|The embosser at the school cannot raise dots seven and eight. / Capital signs are needed then. / Maths uses another table.|emboss the maths worksheet in braille
Bee hive scales drift with heat|Hive scale readings are corrected by the hive temperature|Summer noon looked like robbery: the load cells drift. / The correction is linear, per scale, from the calibration sheet. / Swarming shows as a drop of over a kilogram within an hour.|hive weight drops every hot noon, is it swarming
Parking garages count both ways|Free spaces are entries minus exits, reset at three at night|The counters lose one car in two hundred. / The nightly reset uses the camera count. / Motorbikes slip past the barrier.|free parking spaces shows minus four
Choir seats are assigned by voice|Seats on stage are given by voice group from left to right|Altos stand before basses since the hall was rebuilt. / Soloists have fixed chairs. / The seating plan is printed on Fridays.|assign seats for the autumn concert
Satellite passes use the horizon mask|Pass predictions use the measured horizon mask of the antenna site|The church tower hides eleven degrees in the west. / The mask is a table by azimuth. / Passes under three minutes are skipped.|predict the next satellite passes for the antenna
Cheese ripening is tracked by shelf|Ripening rooms are tracked by shelf, and wheels move weekly|A wheel has no tag: it would mould. / The turning robot reports shelf moves. / Shelves near the door dry faster, by a day.|trace which wheel of cheese was on the shelf last week
Marathon chips read twice|Timing mats read a chip several times; the first read at the finish counts|At the start the last read counts. / Chips of relay teams are handed over in the exchange zone. / The backup mat is three metres behind.|finish time picks the wrong chip read
"""  # noqa: E501 - a table

COMMON = """
We looked at this again after the last release and it still holds.
The test for it is slow, so it only runs when somebody asks for the full suite.
If the build fails at this step, look at the log first and then at the configuration file.
There was a pull request that tried to change this; it was closed without a merge.
The first version had a bug that only showed up with real data.
Please keep the function small and do not add another option to it.
The error message is misleading: the file exists, but the user has no right to read it.
A new branch was made for the fix and merged to main the same day.
It can be checked with one command, see below.
The output should look the same before and after the change.
We agreed to add tests for every case that was found in production.
The server has to be restarted afterwards, otherwise it uses the old values.
Somebody asked whether we can remove the old code now; the answer is not yet.
The page loads the list from the API and shows the first twenty results.
Set the flag in the settings and run the script again to update everything.
The type of that field was changed from string to number in the second version.
In the local setup the port is different, which is why the example does not work there.
The issue is still open and has a label, but nobody works on it this week.
Make sure that the current version is installed before you start the next step.
The data is read line by line and written to a new table; no row is changed in place.
It would be nice to have a button for this in the interface, but it is not a priority.
When the process stops early, the work is picked up where it was left.
Check the import path: the module was moved into another folder.
The component gets its state from the parent and should not keep a copy.
Logs are kept for two weeks; after that only the summary is there.
The review took long because the change touched many files at once.
There are two ways to do it, and the simple one is good enough for now.
The default is fine for most people; write a note if you change it.
Do not commit the generated files, they are made by the build.
The request times out after some seconds and is tried again a few times.
""".strip().splitlines()
FILES = """
src/main.py config/settings.toml tests/test_update.py docs/notes.md scripts/build.sh lib/index.ts
app/models/user.go Makefile README.md api/routes.ts data/schema.sql web/src/App.tsx
""".split()  # noqa: SIM905 - two lines instead of twelve
COMMANDS = """
make test;git status;npm run build;git log --oneline;python -m pytest -x;docker compose up
""".strip().split(";")
UNRELATED = """
ok go on
can you fix the failing test and push
why is this function so slow
commit and push please, then open a pull request
let's rename the variable and update the docs
the page is blank after the last change, check the console
add a flag to skip the cache
write the tests first
undo the last change, it broke the build
what does this error mean
make the list sortable and remember the choice
split that file, it is too long
use the new API everywhere and remove the old one
I think the loop is wrong, look at the index again
run it again with more output
""".strip().splitlines()


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def body_of(core: list[str], dice: random.Random) -> str:
    """The core sentences among common ones, until the body is long enough."""
    wanted = dice.randrange(LEAST_CHARS, MOST_CHARS)
    paragraphs = [[sentence] for sentence in core]
    used = 0
    while sum(len(" ".join(paragraph)) for paragraph in paragraphs) < wanted:
        kind = used % 5
        file, command = dice.choice(FILES), dice.choice(COMMANDS)
        sentence = dice.choice(COMMON)
        if kind == 3:
            sentence = f"See `{file}` and run `{command}`."
        if kind == 4 and len(paragraphs) < 12:
            paragraphs.insert(dice.randrange(len(paragraphs)), [sentence])
        else:
            dice.choice(paragraphs).append(sentence)
        used += 1
    return "\n\n".join(" ".join(paragraph) for paragraph in paragraphs)


Rows = list[dict[str, str]]


def made() -> tuple[Rows, Rows, Rows]:
    """The memories, the prompts that concern them, and prompts that concern none."""
    dice = random.Random(11)
    memories: Rows = []
    related: Rows = []
    for number, line in enumerate(TOPICS.strip().splitlines()):
        name, description, core, prompt = line.split("|")
        kind = ("project", "feedback", "reference", "project")[number % 4]
        body = body_of(core.split(" / "), dice)
        row = {"file": slug(name), "name": name, "description": description}
        memories.append(row | {"type": kind, "body": body})
        related.append({"kind": "nat", "file": slug(name), "prompt": prompt})
    return memories, related, [{"prompt": line} for line in UNRELATED]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    memories, related, unrelated = made()
    for stem, rows in (("memories", memories), ("related", related), ("unrelated", unrelated)):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{stem}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
