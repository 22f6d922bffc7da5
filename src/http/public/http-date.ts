let second = 0;
let text = '';

/** The value of `Date` (RFC 9110 6.6.1), rendered once a second. */
export function httpDate(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    text = new Date(now * 1000).toUTCString();
  }
  return text;
}
