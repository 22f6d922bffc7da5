/** A refusal by the indexer itself, sent as `{"error": message}`. */
export class IndexerRefusal extends Error {
  override readonly name = 'IndexerRefusal';
  readonly status: 404 | 405 | 422 | 500;

  constructor(status: IndexerRefusal['status'], message: string) {
    super(message);
    this.status = status;
  }
}
