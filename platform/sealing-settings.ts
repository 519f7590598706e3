import { parseSealingKeys, type Sealer } from './sealing.ts';
import { defineSettings, type Setting } from './settings.ts';

const sealingKey: Setting<Sealer | undefined> = {
  parse: (text) => parseSealingKeys(text),
  fallback: undefined,
  fallbackText: '',
  unit: 'id:base64 of 32 bytes, comma-separated',
  doc:
    'Keys that secrets of connections, relays and inboxes are sealed under in PostgreSQL: the first one seals, all of them open. ' +
    'Empty: connections and relays are not served, and no app has an inbox secret. `./ravand up` makes one for its stack; rotate with `./ravand admin seal rotate`.',
  secret: true,
};

/** `config.SEALING_KEY` is the Sealer itself; undefined when the variable is empty. */
export const sealingSettings = defineSettings({ SEALING_KEY: sealingKey });
