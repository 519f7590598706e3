import { SHOP_STYLE } from './shop-style.ts';

export type ShopLanguage = 'fa' | 'en';

const TEXTS = {
  fa: {
    shop: 'فروشگاه نمونه',
    products: ['چای لاهیجان', 'زعفران قائنات', 'پستهٔ رفسنجان'],
    currency: 'ریال',
    view: 'دیدن',
    add: 'افزودن به سبد',
    cart: 'سبد خرید',
    checkout: 'تکمیل خرید',
    pay: 'پرداخت',
    signIn: 'ورود',
    signOut: 'خروج',
    viewed: 'صفحهٔ این کالا:',
    added: 'به سبد افزوده شد:',
    payNow: 'سفارش آمادهٔ پرداخت است.',
    paid: 'سفارش ثبت شد. سپاس از خرید شما.',
    signedIn: 'خوش آمدید، سارا.',
    signedOut: 'خارج شدید.',
    events: 'رویدادها',
    panel: 'رویدادهای زنده در پنل',
    customer: 'سارا',
  },
  en: {
    shop: 'Demo shop',
    products: ['Lahijan tea', 'Qaenat saffron', 'Rafsanjan pistachios'],
    currency: 'IRR',
    view: 'View',
    add: 'Add to cart',
    cart: 'Cart',
    checkout: 'Check out',
    pay: 'Pay',
    signIn: 'Sign in',
    signOut: 'Sign out',
    viewed: 'The page of this product:',
    added: 'Added to the cart:',
    payNow: 'The order is ready to be paid.',
    paid: 'The order is placed. Thank you.',
    signedIn: 'Welcome, Sara.',
    signedOut: 'You are signed out.',
    events: 'Events',
    panel: 'Live events in the panel',
    customer: 'Sara',
  },
};
const IDS = ['tea', 'saffron', 'pistachio'];
const PRICES = [185_000, 640_000, 520_000];

/** One page: the address says which part of the shop it shows, as in a single-page application. */
const SCRIPT = `
  const cart = [];
  const number = (value) => new Intl.NumberFormat(document.documentElement.lang).format(value);
  const say = (text) => (document.querySelector('#status').textContent = text);
  const show = (path, title) => {
    history.pushState({}, '', base + path);
    document.title = title;
  };
  const log = (text) => {
    const line = document.createElement('li');
    line.textContent = text;
    document.querySelector('#log').prepend(line);
  };
  const track = (event, properties) => log(event + ' ' + ravand.track(event, properties));
  const actions = {
    view: ({ id, name, price }) => {
      show('product/' + id, name);
      track('product_viewed', { product_id: id, product_name: name, price });
      say(texts.viewed + ' ' + name);
    },
    add: (product) => {
      cart.push(product);
      track('product_added_to_cart', { product_id: product.id, price: product.price });
      say(texts.added + ' ' + product.name);
    },
    checkout: () => {
      show('checkout', texts.checkout);
      track('checkout_started', { item_count: cart.length });
      say(texts.payNow);
    },
    pay: () => {
      const revenue = cart.reduce((sum, { price }) => sum + price, 0);
      track('order_completed', { order_id: String(Date.now()), revenue, currency: 'IRR' });
      cart.length = 0;
      say(texts.paid);
    },
    signIn: () => {
      // The anonymous visitor and the user are one person.
      if (!ravand.userId()) log('alias ' + ravand.alias('demo-user'));
      log('identify ' + ravand.identify('demo-user', { first_name: texts.customer }));
      say(texts.signedIn);
    },
    signOut: () => {
      ravand.reset();
      say(texts.signedOut);
    },
  };
  document.addEventListener('click', ({ target }) => {
    const { action, product } = target.dataset;
    if (!action) return;
    actions[action](products.find(({ id }) => id === product));
    document.querySelector('#cart').textContent = number(cart.length);
    for (const button of document.querySelectorAll('.order button')) button.disabled = !cart.length;
  });
  ravand.on('sent', (ids) => log('✓ ' + ids.join(' ')));
  ravand.on('rejected', ({ reason }) => log('✗ ' + reason));
`;

export interface ShopPage {
  language: ShopLanguage;
  /** Of the SDK, with the key and the host. */
  snippet: string;
  /** Where the panel shows what happens. */
  liveUrl: string;
}

export function shopPage({ language, snippet, liveUrl }: ShopPage): string {
  const texts = TEXTS[language];
  const numbers = new Intl.NumberFormat(language);
  const base = language === 'en' ? '/en/' : '/';
  const products = texts.products.map((name, at) => ({
    id: IDS[at],
    name,
    price: PRICES[at] ?? 0,
  }));
  const rows = products.map(
    ({
      id,
      name,
      price,
    }) => `<article><b>${name}</b><span>${numbers.format(price)} ${texts.currency}</span>
      <button data-action="view" data-product="${id}">${texts.view}</button>
      <button data-action="add" data-product="${id}">${texts.add}</button></article>`,
  );
  const other =
    language === 'en'
      ? '<a href="/" lang="fa" dir="rtl">فارسی</a>'
      : '<a href="/en/" lang="en" dir="ltr">English</a>';
  const values = { texts, base, products };
  const constants = Object.entries(values).map(
    ([name, value]) => `const ${name} = ${JSON.stringify(value)};`,
  );
  return `<!doctype html>
<html lang="${language}" dir="${language === 'fa' ? 'rtl' : 'ltr'}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${texts.shop}</title>
<style>${SHOP_STYLE}</style>
${snippet}</head>
<body>
<header><h1>${texts.shop}</h1>${other}</header>
<main>
${rows.join('\n')}
<p class="order">${texts.cart}: <output id="cart">${numbers.format(0)}</output>
<button data-action="checkout" disabled>${texts.checkout}</button>
<button data-action="pay" disabled>${texts.pay}</button></p>
<p><button data-action="signIn">${texts.signIn}</button>
<button data-action="signOut">${texts.signOut}</button></p>
<p id="status" role="status"></p>
<h2>${texts.events}</h2>
<p><a href="${liveUrl}">${texts.panel}</a></p>
<ul id="log"></ul>
</main>
<script>${constants.join('\n')}${SCRIPT}</script>
</body>
</html>
`;
}
