/**
 * A release of the normaliser with a fault, for `node --import`: it fails on every event whose
 * context names this library. The normaliser of the checkout does not: it is the release with the
 * fix.
 */
import { ContextWriter } from '../../../events/context-bytes.ts';
import { ContextReader } from '../../../events/normalise.ts';

export const FAULTY_LIBRARY = 'breaks-the-last-release';

// Nothing is common to it: every context is read as a value.
ContextWriter.prototype.write = () => false;
// eslint-disable-next-line @typescript-eslint/unbound-method
const sound = ContextReader.prototype.columns;
ContextReader.prototype.columns = function (context, record) {
  const { library } = (context ?? {}) as { library?: { name?: unknown } };
  if (library?.name === FAULTY_LIBRARY)
    throw new TypeError("Cannot read properties of undefined (reading 'family')");
  return sound.call(this, context, record);
};
