import { seededRandom } from './random.ts';

export interface ShopEvent {
  type: 'track' | 'identify' | 'page' | 'alias';
  message_id: string;
  timestamp: string;
  [field: string]: unknown;
}

interface Product {
  id: string;
  name: string;
  category: string;
  price: number;
}

const PRODUCTS: readonly Product[] = [
  { id: 'p-101', name: 'چای سیاه لاهیجان ۵۰۰ گرمی', category: 'نوشیدنی', price: 2_450_000 },
  { id: 'p-102', name: 'زعفران سرگل قائنات یک مثقالی', category: 'ادویه', price: 8_900_000 },
  { id: 'p-103', name: 'پسته اکبری دامغان', category: 'خشکبار', price: 12_600_000 },
  { id: 'p-104', name: 'گز اصفهان ۴۰ درصد', category: 'شیرینی', price: 3_200_000 },
  { id: 'p-105', name: 'گلاب دوآتشه کاشان', category: 'نوشیدنی', price: 1_150_000 },
  { id: 'p-106', name: 'رومیزی قلمکار', category: 'صنایع دستی', price: 6_750_000 },
  { id: 'p-107', name: 'کاسه میناکاری', category: 'صنایع دستی', price: 21_400_000 },
  { id: 'p-108', name: 'عسل کوهی سبلان', category: 'خوراکی', price: 5_300_000 },
];
const CITIES = ['تهران', 'مشهد', 'اصفهان', 'شیراز', 'تبریز', 'کرج', 'رشت', 'یزد'];
const NAMES = ['نرگس', 'آرش', 'مریم', 'کیان', 'شیرین', 'بابک', 'لیلا', 'سامان', 'پریسا', 'مهدی'];
const FAMILIES = ['رضایی', 'کریمی', 'احمدی', 'موسوی', 'حسینی', 'جعفری', 'صادقی', 'مرادی'];
const SOURCES = ['google', 'instagram', 'telegram', 'torob', ''];

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

interface ShopOptions {
  seed: number;
  people: number;
  days: number;
  /** ms since the epoch: the newest event is earlier. */
  now: number;
}

/** Of the account that a visitor may make. */
export function userIdOf(seed: number, visitor: number): string {
  return `user-${seed}-${visitor}`;
}

/** Some people want no e-mails, and the addresses of a few do not exist (docs/sandbox.md). */
function reach(seed: number, visitor: number): Record<string, unknown> {
  const random = seededRandom(seed * 7919 + visitor);
  const wantsNone = random() < 0.08;
  const local = `${random() < 0.03 ? 'dead-' : ''}${userIdOf(seed, visitor)}`;
  return { email: `${local}@example.com`, ...(wantsNone ? { email_opt_in: false } : {}) };
}

/**
 * The traffic of one visitor of a believable Persian shop, oldest event first: browsing, baskets,
 * orders, some refunds; about half of the buyers browse anonymously first and then sign in (alias,
 * then identify). The same options give the same events, message ids included.
 */
export function visitorEvents(options: ShopOptions, visitor: number): ShopEvent[] {
  const random = seededRandom(options.seed * 1_000_003 + visitor);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const chance = (probability: number) => random() < probability;
  const anonymousId = `anon-${options.seed}-${visitor}`;
  const userId = userIdOf(options.seed, visitor);
  const city = pick(CITIES);
  const utm = pick(SOURCES);
  const events: ShopEvent[] = [];
  const first = options.now - Math.floor(random() * options.days * DAY);
  let at = first;
  let signedIn = false;

  const push = (
    event: Omit<ShopEvent, 'message_id' | 'timestamp'> & { type: ShopEvent['type'] },
  ) => {
    events.push({
      ...event,
      ...(signedIn ? { user_id: userId } : { anonymous_id: anonymousId }),
      message_id: `demo-${options.seed}-${visitor}-${events.length}`,
      timestamp: new Date(at).toISOString(),
      context: {
        location: { country: 'ایران', city },
        library: { name: 'ravand-demo', version: '1.0.0' },
        locale: 'fa-IR',
        ...(utm === '' ? {} : { campaign: { source: utm, medium: 'cpc' } }),
        ...(event['context'] as object | undefined),
      },
    });
    at += Math.floor((0.2 + random() * 3) * MINUTE);
  };
  const track = (event: string, properties: Record<string, unknown>) =>
    push({ type: 'track', event, properties });
  const describe = (product: Product) => ({
    product_id: product.id,
    product_name: product.name,
    category: product.category,
    price: product.price,
  });

  const signIn = () => {
    if (signedIn) return;
    signedIn = true;
    push({ type: 'alias', previous_id: anonymousId });
    const name = pick(NAMES);
    push({
      type: 'identify',
      traits: {
        first_name: name,
        last_name: pick(FAMILIES),
        ...reach(options.seed, visitor),
        demo_seed: options.seed,
        phone: `۰۹۱۲${String(1_000_000 + Math.floor(random() * 8_999_999))}`,
        city,
        loyal: chance(0.3),
      },
    });
    track('signed_in', { method: 'otp' });
  };

  const visits = 1 + Math.floor(random() ** 2 * 5);
  for (let visit = 0; visit < visits && at < options.now - 2 * 60 * MINUTE; visit++) {
    push({
      type: 'page',
      context: { page: { url: 'https://shop.example/', path: '/', title: 'فروشگاه روند' } },
    });
    const looked = 1 + Math.floor(random() * 4);
    for (let n = 0; n < looked; n++) track('product_viewed', describe(pick(PRODUCTS)));
    if (chance(0.45)) {
      const product = pick(PRODUCTS);
      const quantity = 1 + Math.floor(random() * 3);
      track('product_added_to_cart', { ...describe(product), quantity });
      if (chance(0.6)) {
        if (chance(0.7)) signIn();
        track('checkout_started', { product_id: product.id, item_count: quantity });
        if (chance(0.65)) {
          signIn();
          const order = `o-${options.seed}-${visitor}-${visit}`;
          track('order_completed', {
            order_id: order,
            product_id: product.id,
            item_count: quantity,
            revenue: product.price * quantity,
            currency: 'IRR',
          });
          if (chance(0.06)) {
            at += Math.floor(random() * DAY);
            track('order_refunded', {
              order_id: order,
              revenue: product.price * quantity,
              currency: 'IRR',
            });
          }
        }
      }
    }
    at += Math.floor((0.3 + random() * 6) * DAY);
  }
  return events.filter((event) => Date.parse(event.timestamp) < options.now);
}
