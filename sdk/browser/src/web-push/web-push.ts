import type { Entry } from '../entry.ts';
import { postTo } from '../request.ts';
import type { WebPush, WebPushOptions } from '../types.ts';

export function open(entry: Entry, options: WebPushOptions | undefined): WebPush {
  if (!options) throw new Error('load() had no option webPush');
  const { publicKey, worker = '/ravand-worker.js' } = options;

  const subscribe = async () => {
    const user_id = entry.userId();
    if (!user_id) throw new Error('web push is subscribed after identify(userId)');
    if (!('PushManager' in window && 'serviceWorker' in navigator)) return false;
    if ((await Notification.requestPermission()) !== 'granted') return false;
    const registration = await navigator.serviceWorker.register(worker);
    await activation(registration);
    const subscription = await subscriptionUnder(registration.pushManager, bytesOf(publicKey));
    const body = { user_id, subscription };
    const { status, answer } = await postTo(entry, '/v1/webpush/subscribe', body);
    if (status !== 200) throw new Error(`the host answered ${status} ${answer.message ?? ''}`);
    return true;
  };

  const unsubscribe = async () => {
    const registration = await navigator.serviceWorker.getRegistration(worker);
    const subscription = await registration?.pushManager.getSubscription();
    if (!subscription) return;
    await postTo(entry, '/v1/webpush/unsubscribe', { endpoint: subscription.endpoint });
    await subscription.unsubscribe();
  };

  return { subscribe, unsubscribe };
}

/** Resolves when a worker of the registration runs; only then can it subscribe. */
async function activation({ active, waiting, installing }: ServiceWorkerRegistration) {
  const worker = waiting ?? installing;
  if (active || !worker) return;
  await new Promise<void>((resolve, reject) => {
    worker.addEventListener('statechange', () => {
      if (worker.state === 'activated') resolve();
      if (worker.state === 'redundant') reject(new Error('the service worker was not installed'));
    });
  });
}

/** A subscription under another key can never be used: it is replaced. */
async function subscriptionUnder(manager: PushManager, key: Uint8Array<ArrayBuffer>) {
  const found = await manager.getSubscription();
  if (found && isSame(found.options.applicationServerKey, key)) return found;
  await found?.unsubscribe();
  return manager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replace(/-/g, '+').replace(/_/g, '/'));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function isSame(found: ArrayBuffer | null, wanted: Uint8Array): boolean {
  const bytes = new Uint8Array(found ?? new ArrayBuffer(0));
  return bytes.length === wanted.length && bytes.every((byte, at) => byte === wanted[at]);
}
