// The service worker /ravand-worker.js: shows messages that come by web push, and opens their page.

const worker = self as unknown as ServiceWorkerGlobalScope;

/** As the platform sends it. */
interface Payload {
  title?: string;
  body?: string;
  url?: string;
  /** Of the message: the page that is opened makes the event of the click (ingest 6.1). */
  sg_mid?: string;
}

worker.addEventListener('push', (event) => {
  const { title = '', body = '', url, sg_mid } = read(event.data);
  event.waitUntil(
    worker.registration.showNotification(title, {
      ...{ body, dir: 'auto', data: { url, sg_mid } },
      // The same message shown again replaces itself.
      ...(sg_mid && { tag: sg_mid }),
    }),
  );
});

worker.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data as Payload));
});

async function open({ url = '/', sg_mid }: Payload): Promise<void> {
  const target = new URL(url, worker.location.origin);
  if (sg_mid && !target.searchParams.has('sg_mid')) target.searchParams.set('sg_mid', sg_mid);
  await worker.clients.openWindow(target.href);
}

function read(data: PushMessageData | null): Payload {
  try {
    return (data?.json() ?? {}) as Payload;
  } catch {
    return { body: data?.text() ?? '' };
  }
}
