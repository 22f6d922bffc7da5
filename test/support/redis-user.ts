/** The least rights that a Redis user needs, as docs/reference/fleet.md names them. */
export const LEAST_RIGHTS =
  '~toncache:* +@connection +@read +@write +@scripting -@dangerous +info +time +cluster|slots +cluster|info';

/** User and password of {@link redisUser}, as a URL holds them. */
export const CREDENTIALS = 'toncache:p%40ss%3Aw%2Frd';

/** Arguments of a server that has a user with these rights and no more. */
export function redisUser(rights: string): readonly string[] {
  return ['--user', 'toncache', 'on', '>p@ss:w/rd', ...rights.split(' ')];
}
