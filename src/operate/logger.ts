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

/** JSON lines on standard output, or on `destination`; API keys, passwords and secrets in queries are redacted. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: (line) => line.replace(SECRETS, '[redacted]') },
    },
    ...(destination === undefined ? [] : [destination]),
  );
}
