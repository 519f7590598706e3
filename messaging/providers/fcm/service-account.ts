import { createPrivateKey, type KeyObject } from 'node:crypto';
import { isJsonObject } from '../../../events/json.ts';

/** The parts of a service account's key file that are used. */
export interface ServiceAccount {
  clientEmail: string;
  keyId: string;
  privateKey: KeyObject;
  tokenUrl: string;
}

const TOKEN_URL = 'https://oauth2.googleapis.com/token';

/** Reads the key file of a service account. Throws an Error that never quotes it. */
export function parseServiceAccount(secret: string): ServiceAccount {
  const json = parse(secret);
  const text = (name: string, fallback?: string): string => {
    const value = json[name] ?? fallback;
    if (typeof value === 'string' && value !== '') return value;
    throw new Error(`fcm: the key file of the service account has no ${name}`);
  };
  const [clientEmail, pem] = [text('client_email'), text('private_key')];
  const tokenUrl = text('token_uri', TOKEN_URL);
  return { clientEmail, keyId: text('private_key_id', 'none'), privateKey: rsaKey(pem), tokenUrl };
}

function parse(secret: string): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(secret);
    if (isJsonObject(json)) return json;
  } catch {
    // The error would quote the file.
  }
  throw new Error('fcm: the secret has to be the key file of a service account (JSON)');
}

function rsaKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // Not a key: the same sentence.
  }
  throw new Error('fcm: private_key of the service account is not an RSA key');
}
