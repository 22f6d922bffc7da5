import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';

/** In any line: a secret member of an object, a key in a query, a password in a URL. */
const SECRETS = new RegExp(
  [
    String.raw`(?<="(?:apiKey|adminToken|password|authorization|cookie|x-api-key|api_key)":\[?")(?:[^"\\]|\\.)+`,
    String.raw`(?<=api_key=)[^&\s"\\]+`,
    String.raw`(?<=//[^/:@\s"]*:)[^/@\s"]+(?=@)`,
  ].join('|'),
  'gi',
);

/** A line of JSON for somebody who watches a terminal: `03:14:07 WARN message key=value`, in local time. */
function forTerminal(line: string): string {
  const { time, level, msg, err, ...fields } = JSON.parse(line);
  const plain = (value: unknown) =>
    typeof value === 'string' && /^[!#-~]+$/.test(value) ? value : JSON.stringify(value);
  const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${plain(value)}`);
  const clock = new Date(time).toLocaleTimeString('en-GB', { hourCycle: 'h23' });
  const said = String(msg).replace(/\p{C}/gu, ' ');
  return `${clock} ${level.toUpperCase()} ${said}${shown.join('')}${err?.stack === undefined ? '' : `\n${err.stack}`}\n`;
}

/**
 * JSON lines on standard output, or on `destination`, or lines for a terminal; API keys, passwords and secrets in queries
 * are redacted.
 */
export function createLogger(level: string, destination?: DestinationStream, isTerminal = false): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: {
        streamWrite: (line) => {
          const redacted = line.replace(SECRETS, '[redacted]');
          return isTerminal ? forTerminal(redacted) : redacted;
        },
      },
    },
    ...(destination === undefined ? [] : [destination]),
  );
}
