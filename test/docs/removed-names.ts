/** The names that went before 0.1.0, other than settings: with the name or the way instead. */
export const REMOVED_NAMES: readonly (readonly [names: readonly string[], instead: string])[] = [
  [['toncache_loads_shed_total'], '`toncache_loads_refused_total`'],
  [['toncache_redis_available'], 'condition `redis-unavailable`, `purges-missed`'],
  [['toncache_upstream_operation_not_served'], 'condition `not-served`'],
  [['toncache_upstream_head_check_failed'], 'condition `lacks-block`, `other-chain`'],
  [['toncache_upstream_unresponsive'], 'condition `silent`'],
  [
    ['toncache_upstream_head_rollback_blocks', 'toncache_upstream_head_rollback_from_seqno'],
    'condition `head-fell`; the status page shows the distance',
  ],
  [['toncache_upstream_first_seqno'], 'condition `short-history`'],
  [['toncache_client_connections_refused_total'], 'condition `connections-refused`'],
  [['toncache_log_buffered_bytes'], 'condition `log-blocked`'],
  [
    ['toncache_queued_clients', 'toncache_top_client_queued_ratio', 'toncache_top_client_requests_ratio'],
    'condition `one-client`, and the clients on the status page',
  ],
  [['toncache_newest_masterchain_seqno'], '`max(toncache_upstream_head_seqno)`'],
  [['toncache_upstream_timeout_seconds', 'toncache_proof_touch_bytes'], 'nothing'],
  [
    [
      ...['toncache_stream_connected', 'toncache_stream_errors_total', 'toncache_stream_events_total'],
      ...['toncache_stream_invalid_messages_total', 'toncache_stream_missed_events_total'],
      ...['toncache_stream_subscribed_addresses', 'toncache_stream_watched_keys'],
      ...['ToncacheStreamLost', 'ToncacheStreamMissesEvents'],
    ],
    'nothing: clients subscribe themselves, through the same port',
  ],
  [['toncache:client_p99_seconds:rate2m'], 'nothing: `ToncacheSlow` reads the condition `slow`'],
  [['ToncacheHeadStandsStill', 'ToncacheHeadFellBack'], '`ToncacheOutdated`, with the condition in its label `name`'],
  [['verdict'], 'in `/status.json`: `level` (`OK`, `DEGRADED`, `FAILING`), `says`, `conditions`'],
  [['toncache top'], 'the status page, or `curl -s http://127.0.0.1:9464/status.json`'],
  [['/openapi.json'], '`config/openapi.json` in the package'],
  [['toncache.service'], '`toncache@.service`: start `toncache@9464`'],
  [['verify'], '`toncache verify`: it was a script of npm'],
];
