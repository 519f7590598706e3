/** A command that never ends by itself. */
import { endWithParent } from '../with-parent.ts';

endWithParent();
setInterval(() => undefined, 1000);
process.send?.('started');
