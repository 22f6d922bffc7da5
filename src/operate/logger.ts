import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';

/** Names of members whose values are secrets, in whatever object they are logged. */
const SECRET_NAMES = [
  'apiKey',
  'adminToken',
  'password',
  'authorization',
  'cookie',
  '["x-api-key"]',
  '["api_key"]',
  'redis.url',
];

/** A key in a query, or a password in a URL, in any text that is logged. */
const SECRET_IN_TEXT = /(?<=api_key=)[^&\s"\\]+|(?<=\/\/[^/:@\s"]*:)[^/@\s"]+(?=@)/gi;

/** JSON lines on standard output, or on `destination`; API keys, passwords and secrets in queries are redacted. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const paths = SECRET_NAMES.flatMap((name) => [name, ...['*', '*.*'].map((above) => join(above, name))]);
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths, censor: '[redacted]' },
      hooks: { streamWrite: (line) => line.replace(SECRET_IN_TEXT, '[redacted]') },
    },
    ...(destination === undefined ? [] : [destination]),
  );
}

function join(above: string, name: string): string {
  return name.startsWith('[') ? above + name : `${above}.${name}`;
}
