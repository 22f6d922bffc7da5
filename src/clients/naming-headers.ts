/** The header fields by which some proxies name clients and that are not read, as they are shown. */
export const UNREAD_NAMES: Readonly<Record<string, string>> = {
  forwarded: 'Forwarded',
  'x-real-ip': 'X-Real-IP',
  'cf-connecting-ip': 'CF-Connecting-IP',
  'true-client-ip': 'True-Client-IP',
  'x-client-ip': 'X-Client-IP',
  'x-cluster-client-ip': 'X-Cluster-Client-IP',
  'fastly-client-ip': 'Fastly-Client-IP',
  'fly-client-ip': 'Fly-Client-IP',
};

/** The names of all header fields by which proxies name clients, in lower case. */
export const NAMING_HEADERS: readonly string[] = ['x-forwarded-for', ...Object.keys(UNREAD_NAMES)];
