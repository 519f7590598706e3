/** A relay that cannot be saved; the message is for the person who filled the form in. */
export class InvalidRelay extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InvalidRelay';
  }
}
