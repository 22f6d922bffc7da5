// What happened to clients, as HTML: the server renders it into the page, and the page renders it again with each new
// state. Instants are in epoch milliseconds, and `clock` says how they are read: a function from an instant to `HH:MM`,
// and the name of its time zone, empty in a browser.

const CLASSES = { OK: 'good', DEGRADED: 'warn', FAILING: 'bad' };

const classOf = (level) => CLASSES[level] ?? '';

const MINUTE_MS = 60_000;

/** The number of episodes that are shown at once; the others can be unfolded. */
const SHOWN = 3;

/** A time below the strip takes the room of this many minutes, on a phone. */
const ROOM = 8;

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escaped = (text) => text.replace(/[&<>"]/g, (character) => ENTITIES[character]);

/** The link opens the one section of docs/incidents.md. */
const stepsIn = (section) => `<a href="status/docs/${escaped(section)}" target="_blank">What to do</a>`;

/** The title of the page's tab: the first line without its age, which would change each second. */
export const titleOf = ({ level, says }) =>
  level === 'OK' ? 'toncache' : `${says.replace(/ for .*?: /, ': ')} – toncache`;

/** Each element of the page that tells the state of a message, by its id, as the HTML in it. */
export function toldOf(message, clock) {
  const { level, says, episodes } = message;
  const current = episodes.find(({ isOver }) => !isOver);
  return {
    level: escaped(level),
    says: escaped(says.slice(level.length)),
    steps: current === undefined ? '' : ` ${stepsIn(current.section)}`,
    hour: stripOf(message, clock),
    happened: happenedOf(message, clock),
  };
}

/** `03:14 to 03:23`, `since 03:14`, or `03:14` within a minute. */
function timeOf({ since, until, isOver }, { at: now }, { at }) {
  const [from, to] = [at(since, now), at(until ?? now, now)];
  if (!isOver) return `since ${from}`;
  return from === to ? from : `${from} to ${to}`;
}

/** How long it lasted, in minutes or hours. */
function lengthOf({ since, until }) {
  const seconds = Math.max(1, Math.round((until - since) / 1000));
  if (seconds < 90) return `${seconds} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

function happenedOf(message, clock) {
  // The first line is not repeated.
  const [first] = message.episodes;
  const others = first?.isOver === false ? message.episodes.slice(1) : message.episodes;
  const shown = others.map((each) => episodeOf(each, message, clock));
  const [list, rest] = [shown.slice(0, SHOWN), shown.slice(SHOWN)];
  const more = `<details><summary>${rest.length} earlier</summary><ol>${rest.join('')}</ol></details>`;
  return `<ol>${list.join('')}</ol>${rest.length === 0 ? '' : more}`;
}

function episodeOf(episode, message, clock) {
  const { level, says, section, since, isOver } = episode;
  const when = `<b>${timeOf(episode, message, clock)}</b>`;
  if (level === 'started') return `<li><b>${clock.at(since, message.at)}</b>, ${escaped(says)}</li>`;
  const length = !isOver ? '' : `, ${lengthOf(episode)}`;
  return `<li class="${classOf(level)}">${when}${length}, <b>${escaped(level)}</b>: ${escaped(says)}. ${stepsIn(section)}</li>`;
}

/** A cell for each minute of the last hour. What the cells show is said below them. */
function stripOf(message, clock) {
  const { minutes, episodes, at: now } = message;
  const { since, levels } = minutes;
  const cellOf = (instant) => Math.floor((instant - since) / MINUTE_MS);
  const marks = new Map();
  const mark = (cell, instant) => {
    if ([...marks.keys()].every((other) => Math.abs(other - cell) >= ROOM)) marks.set(cell, clock.at(instant, now));
  };
  mark(0, since);
  marks.set(levels.length - 1, `${clock.at(now, now)}${clock.zone && ` ${clock.zone}`}`);
  const bad = episodes.filter(({ level }) => level !== 'started');
  for (const each of bad.slice(0, SHOWN)) if (each.since >= since) mark(cellOf(each.since), each.since);
  const cells = levels.map((level, cell) => {
    const title = `${clock.at(since + cell * MINUTE_MS, now)} ${level ?? 'no requests'}`;
    const time = marks.has(cell) ? `<span>${marks.get(cell)}</span>` : '';
    return `<i class="${level === null ? 'none' : classOf(level)}" title="${title}">${time}</i>`;
  });
  return `<div class="strip" role="img" aria-label="${escaped(hourOf(message, clock))}">${cells.join('')}</div>`;
}

/** The strip in words. */
function hourOf(message, clock) {
  const { minutes, episodes } = message;
  if (minutes.levels.every((level) => level === null)) return 'Last hour: no requests';
  const said = episodes
    .filter(({ level, until = message.at }) => level !== 'started' && until >= minutes.since)
    .map((each) => `${each.level} ${timeOf(each, message, clock)}, ${each.says}`);
  return `Last hour: ${said.length === 0 ? 'OK' : [...said, 'else OK'].join('; ')}`;
}
