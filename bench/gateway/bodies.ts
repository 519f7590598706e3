/** A request that gets new message ids each time it is sent. */
export interface RequestTemplate {
  name: string;
  /** Events in one request. */
  events: number;
  path: string;
  /** Bytes of the body. */
  bodyBytes: number;
  make: () => { bytes: Buffer; renew: (serial: number) => void };
}

const ID_MARK = '@@@@@@@@@@@@@@@@';

interface Person {
  user: string;
}

function item({ user }: Person): string {
  return `{"type":"track","event":"product_viewed","user_id":"${user}","message_id":"${ID_MARK}","timestamp":"${new Date().toISOString()}","properties":{"product_id":"sku-4711","product_name":"Wireless headphones","category":"audio","price":1290000,"currency":"IRR","position":3},"context":{"library":{"name":"web","version":"2.1.0"},"page":{"url":"https://shop.example/p/4711","path":"/p/4711","title":"Wireless headphones"},"locale":"fa-IR","session_id":"s-0123456789"}}`;
}

function template(options: {
  name: string;
  events: number;
  method?: 'GET' | 'POST';
  path: string;
  body: string;
  writeKey: string;
}): RequestTemplate {
  const bodyBytes = Buffer.byteLength(options.body);
  const head = [
    `${options.method ?? 'POST'} ${options.path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'User-Agent: Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36',
    `Authorization: Bearer ${options.writeKey}`,
    'Content-Type: application/json',
    `Content-Length: ${bodyBytes}`,
  ].join('\r\n');
  const whole = Buffer.from(`${head}\r\n\r\n${options.body}`);
  const offsets: number[] = [];
  for (let at = whole.indexOf(ID_MARK); at !== -1; at = whole.indexOf(ID_MARK, at + 1))
    offsets.push(at);
  const make = () => {
    const bytes = Buffer.from(whole);
    const renew = (serial: number) => {
      for (const [position, offset] of offsets.entries())
        bytes.write(
          (serial * offsets.length + position).toString(36).padStart(ID_MARK.length, '0'),
          offset,
          'latin1',
        );
    };
    return { bytes, renew };
  };
  return { name: options.name, events: options.events, path: options.path, bodyBytes, make };
}

/** A single event, and batches of a hundred of one person and of a hundred people. */
export function requestTemplates(writeKey: string): RequestTemplate[] {
  const batch = (people: number) =>
    `{"batch":[${Array.from({ length: 100 }, (_, at) => item({ user: `user-${String(at % people).padStart(8, '0')}` })).join(',')}]}`;
  return [
    template({
      name: 'single events',
      events: 1,
      path: '/v1/track',
      body: item({ user: 'user-00000001' }),
      writeKey,
    }),
    template({
      name: 'batches of 100, one person',
      events: 100,
      path: '/v1/batch',
      body: batch(1),
      writeKey,
    }),
    template({
      name: 'batches of 100, 100 people',
      events: 100,
      path: '/v1/batch',
      body: batch(100),
      writeKey,
    }),
  ];
}

/** A registration of a device, new each time, and the on-site campaigns of a new visitor. */
export function channelTemplates(writeKey: string): RequestTemplate[] {
  const device = {
    ...{ device_id: ID_MARK, user_id: 'user-00000001', platform: 'android', model: 'SM-A546E' },
    ...{ push_token: `${ID_MARK}:${'A'.repeat(124)}`, app_version: '3.4.1', os_version: '14' },
  };
  const page = encodeURIComponent('https://shop.example/p/4711');
  return [
    template({
      ...{ name: 'registrations', events: 1, path: '/v1/devices', writeKey },
      body: JSON.stringify(device),
    }),
    template({
      ...{ name: 'on-site, 1,000 campaigns of 1,000 audiences', events: 1, writeKey, body: '' },
      method: 'GET',
      path: `/v1/onsite?url=${page}&user_id=user-00000001&anonymous_id=${ID_MARK}`,
    }),
  ];
}

/** Those that load-process.ts sends, by their number. */
export function numberedTemplates(writeKey: string): RequestTemplate[] {
  return [...requestTemplates(writeKey), ...channelTemplates(writeKey)];
}
