/** The minimum rights of a Redis user, as in docs/reference/fleet.md. */
export const LEAST_RIGHTS =
  '~toncache:* +@connection +@read +@write +@scripting -@dangerous +info +time +cluster|slots +cluster|info';

/** User and password of {@link redisUser}, in the form of a URL. */
export const CREDENTIALS = 'toncache:p%40ss%3Aw%2Frd';

/** Arguments of a server with a user with exactly these rights. */
export function redisUser(rights: string): readonly string[] {
  return ['--user', 'toncache', 'on', '>p@ss:w/rd', ...rights.split(' ')];
}
