const PRODUCTS = [
  { id: 'tea', name: 'چای لاهیجان', price: 185_000 },
  { id: 'saffron', name: 'زعفران قائنات', price: 640_000 },
  { id: 'pistachio', name: 'پستهٔ رفسنجان', price: 520_000 },
];

/** One page: the address says which part of the shop it shows, as in a single-page application. */
const SCRIPT = `
  const products = ${JSON.stringify(PRODUCTS)};
  const cart = [];
  const digits = new Intl.NumberFormat('fa-IR');
  const log = (text) => {
    const line = document.createElement('li');
    line.textContent = text;
    document.querySelector('#log').prepend(line);
  };
  const track = (event, properties) => log(event + ' ' + ravand.track(event, properties));
  const actions = {
    view: ({ id, name, price }) => {
      history.pushState({}, '', '/product/' + id);
      document.title = name;
      track('product_viewed', { product_id: id, product_name: name, price });
    },
    add: (product) => {
      cart.push(product);
      track('product_added_to_cart', { product_id: product.id, price: product.price });
    },
    checkout: () => {
      history.pushState({}, '', '/checkout');
      track('checkout_started', { item_count: cart.length });
    },
    pay: () => {
      const revenue = cart.reduce((sum, { price }) => sum + price, 0);
      track('order_completed', { order_id: String(Date.now()), revenue, currency: 'IRR' });
      cart.length = 0;
    },
    signIn: () => log('identify ' + ravand.identify('demo-user', { first_name: 'سارا' })),
    signOut: () => ravand.reset(),
  };
  document.addEventListener('click', ({ target }) => {
    const { action, product } = target.dataset;
    if (action) actions[action](products.find(({ id }) => id === product));
    document.querySelector('#cart').textContent = digits.format(cart.length);
  });
  ravand.on('sent', (ids) => log('✓ ' + ids.join(' ')));
  ravand.on('rejected', ({ reason }) => log('✗ ' + reason));
`;

const STYLE = `
  body { font: 16px/1.8 system-ui, Tahoma, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem }
  article { display: flex; gap: .5rem; align-items: center; border-block-end: 1px solid #8884; padding: .5rem 0 }
  article b { flex: 1 }
  button { font: inherit; padding: .25rem .75rem }
  #log { direction: ltr; text-align: left; font: 12px/1.6 monospace; overflow-wrap: anywhere }
`;

/** @param snippet of the SDK, with the key and the host */
export function shopPage(snippet: string): string {
  const digits = new Intl.NumberFormat('fa-IR');
  const products = PRODUCTS.map(
    ({ id, name, price }) => `<article><b>${name}</b><span>${digits.format(price)} ریال</span>
      <button data-action="view" data-product="${id}">دیدن</button>
      <button data-action="add" data-product="${id}">افزودن به سبد</button></article>`,
  );
  return `<!doctype html>
<html lang="fa" dir="rtl">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>فروشگاه نمونه</title>
<style>${STYLE}</style>
${snippet}</head>
<body>
<h1>فروشگاه نمونه</h1>
<main>${products.join('')}
<p>سبد خرید: <output id="cart">۰</output></p>
<button data-action="checkout">ادامهٔ خرید</button>
<button data-action="pay">پرداخت</button>
<button data-action="signIn">ورود</button>
<button data-action="signOut">خروج</button>
</main>
<h2>رویدادها</h2>
<ul id="log"></ul>
<script>${SCRIPT}</script>
</body>
</html>
`;
}
