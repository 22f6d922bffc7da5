/** A refusal by the indexer itself, sent as `{"error": message}`. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: 404 | 405 | 422 | 500;

  constructor(status: Refusal['status'], message: string) {
    super(message);
    this.status = status;
  }
}
