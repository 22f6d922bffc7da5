export const MIB = 1024 * 1024;
export const INFO = '/api/v3/masterchainInfo';
export const MESSAGE = '/api/v3/message';
export const JSON_BODY = { 'Content-Type': 'application/json' };

/** The statuses of all answers in this data. */
export const statuses = (received: string): string[] => received.match(/(?<=HTTP\/1\.1 )\d{3}(?= )/g) ?? [];

/** The raw head of a request that is the connection's last. */
export const head = (line: string, ...headers: string[]): string =>
  [`${line} HTTP/1.1`, 'Host: x', ...headers, 'Connection: close', '', ''].join('\r\n');
