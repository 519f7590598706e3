/** A relay cannot be saved. The message is for the person who filled in the form. */
export class InvalidRelay extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InvalidRelay';
  }
}
