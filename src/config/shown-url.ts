/**
 * A part of a path with 16 or more characters may be a key: providers put theirs there, and no path of an API needs it.
 */
const SECRET_PARTS = /[^/]{16,}/g;

/** A URL of the settings for people, in the log and elsewhere: its login and parts of its path that may be a key are masked. */
export function shownUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return '(secret)';
  const path = url.pathname.replace(SECRET_PARTS, '(secret)');
  const hasLogin = url.username + url.password !== '';
  // In its original spelling, unless that would show a secret.
  if (path === url.pathname && !hasLogin) return text;
  return hasLogin ? `${url.protocol}//(secret)@${url.host}${path}` : url.origin + path;
}
