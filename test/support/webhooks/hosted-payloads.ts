/**
 * Deliveries of the hosted storefront in the documented shape of its platform, with data of our
 * own. Ids have 64 bits, prices are texts, times carry the shop's offset. `at` is when the order
 * was made; ids come as texts and are written as numbers by `deliveryText`.
 */
const ORDER_ID = '820982911946154508';
const CUSTOMER_ID = '706405506930370084';

function time(at: Date): string {
  return `${new Date(at.getTime() + 3.5 * 3_600_000).toISOString().slice(0, 19)}+03:30`;
}

const ADDRESS = {
  first_name: 'نرگس',
  last_name: 'رضایی',
  address1: 'خیابان ولیعصر ۱۲',
  address2: null,
  phone: '021-88776655',
  city: 'تهران',
  zip: '1434755311',
  province: 'تهران',
  country: 'Iran',
  company: null,
  latitude: null,
  longitude: null,
  name: 'نرگس رضایی',
  country_code: 'IR',
  province_code: null,
};

export function customer(at: Date): Record<string, unknown> {
  return {
    id: CUSTOMER_ID,
    created_at: time(at),
    updated_at: time(at),
    first_name: 'نرگس',
    last_name: 'رضایی',
    state: 'enabled',
    note: null,
    verified_email: true,
    multipass_identifier: null,
    tax_exempt: false,
    email: 'Narges@Example.ir',
    phone: '+989121234567',
    currency: 'IRR',
    email_marketing_consent: {
      state: 'subscribed',
      opt_in_level: 'single_opt_in',
      consent_updated_at: time(at),
    },
    sms_marketing_consent: null,
    tags: '',
    addresses: [],
    tax_exemptions: [],
    admin_graphql_api_id: `gid://shop/Customer/${CUSTOMER_ID}`,
    default_address: {
      id: '715243470612851245',
      customer_id: CUSTOMER_ID,
      ...ADDRESS,
      default: true,
    },
  };
}

function lineItem(values: {
  id: string;
  product_id: string;
  sku: string;
  title: string;
  price: string;
  quantity: number;
}): Record<string, unknown> {
  return {
    ...values,
    admin_graphql_api_id: `gid://shop/LineItem/${values.id}`,
    current_quantity: values.quantity,
    fulfillable_quantity: values.quantity,
    fulfillment_service: 'manual',
    fulfillment_status: null,
    gift_card: false,
    grams: 567,
    name: values.title,
    product_exists: true,
    properties: [],
    requires_shipping: true,
    taxable: true,
    total_discount: '0.00',
    variant_id: '808950810',
    variant_title: '',
    vendor: null,
    tax_lines: [],
    duties: [],
    discount_allocations: [],
  };
}

const LINES = [
  lineItem({
    id: '866550311766439020',
    product_id: '632910392',
    sku: 'KAFSH-42',
    title: 'کفش ورزشی',
    price: '1490000.00',
    quantity: 1,
  }),
  lineItem({
    id: '141249953214522974',
    product_id: '632910393',
    sku: 'JOORAB-7',
    title: 'جوراب',
    price: '99500.50',
    quantity: 2,
  }),
];

/** Amount of the order as the shop's own books have it. */
export const ORDER_TOTAL = 1_689_001;

export function order(at: Date, changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: ORDER_ID,
    admin_graphql_api_id: `gid://shop/Order/${ORDER_ID}`,
    app_id: null,
    browser_ip: null,
    buyer_accepts_marketing: true,
    cancel_reason: null,
    cancelled_at: null,
    cart_token: null,
    checkout_id: null,
    confirmed: false,
    contact_email: 'Narges@Example.ir',
    created_at: time(at),
    currency: 'IRR',
    current_total_price: '1689001.00',
    customer_locale: 'fa',
    discount_codes: [],
    email: 'Narges@Example.ir',
    financial_status: 'paid',
    fulfillment_status: null,
    landing_site: null,
    name: '#9999',
    note: null,
    note_attributes: [],
    number: 234,
    order_number: 1234,
    order_status_url:
      'https://shop.example.ir/690933842/orders/123456abcd/authenticate?key=abcdefg',
    payment_gateway_names: ['bogus'],
    phone: null,
    presentment_currency: 'IRR',
    processed_at: time(at),
    subtotal_price: '1689001.00',
    tags: '',
    taxes_included: false,
    test: true,
    total_discounts: '0.00',
    total_line_items_price: '1689001.00',
    total_price: '1689001.00',
    total_price_set: {
      shop_money: { amount: '1689001.00', currency_code: 'IRR' },
      presentment_money: { amount: '1689001.00', currency_code: 'IRR' },
    },
    total_tax: '0.00',
    updated_at: time(at),
    user_id: null,
    billing_address: ADDRESS,
    customer: customer(at),
    fulfillments: [],
    line_items: LINES,
    refunds: [],
    shipping_address: ADDRESS,
    shipping_lines: [],
    ...changes,
  };
}

export function cancelledOrder(at: Date, cancelledAt: Date): Record<string, unknown> {
  return order(at, {
    cancel_reason: 'customer',
    cancelled_at: time(cancelledAt),
    financial_status: 'voided',
    updated_at: time(cancelledAt),
  });
}

/** A refund names its order and the member of staff who made it, and no customer. */
export function refund(at: Date): Record<string, unknown> {
  return {
    id: '890088186047892319',
    order_id: ORDER_ID,
    created_at: time(at),
    note: 'Things were damaged',
    user_id: '548380009',
    processed_at: time(at),
    restock: false,
    duties: [],
    total_duties_set: { shop_money: { amount: '0.00', currency_code: 'IRR' } },
    return: null,
    admin_graphql_api_id: 'gid://shop/Refund/890088186047892319',
    refund_line_items: [
      {
        id: '487817672276298627',
        quantity: 1,
        line_item_id: '866550311766439020',
        location_id: null,
        restock_type: 'no_restock',
        subtotal: 1_490_000,
        total_tax: 0,
        line_item: LINES[0],
      },
    ],
    transactions: [
      {
        id: '245135271310201194',
        order_id: ORDER_ID,
        kind: 'refund',
        gateway: 'bogus',
        status: 'success',
        created_at: time(at),
        amount: '1490000.00',
        currency: 'IRR',
        test: false,
      },
    ],
    order_adjustments: [],
    refund_shipping_lines: [],
  };
}

export function checkout(at: Date, changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: '981820079255243537',
    token: '123123123',
    cart_token: 'eeafa272cebfd4b22385bc4b645e762c',
    email: 'example@Email.com',
    gateway: null,
    buyer_accepts_marketing: false,
    created_at: time(at),
    updated_at: time(at),
    landing_site: null,
    note: null,
    referring_site: null,
    shipping_lines: [],
    taxes_included: false,
    total_weight: 1300,
    currency: 'IRR',
    completed_at: null,
    phone: null,
    customer_locale: 'fa',
    line_items: LINES.map(({ sku, title, quantity, price, product_id }) => ({
      sku,
      title,
      quantity,
      price,
      product_id,
      variant_id: 49148385,
      line_price: price,
    })),
    name: '#981820079255243537',
    abandoned_checkout_url:
      'https://shop.example.ir/548380009/checkouts/123123123/recover?key=example-secret-token',
    discount_codes: [],
    tax_lines: [],
    source_name: 'web',
    subtotal_price: '1689001.00',
    total_discounts: '0.00',
    total_line_items_price: '1689001.00',
    total_price: '1689001.00',
    total_tax: '0.00',
    ...changes,
  };
}

/** The text that the platform sends: ids are numbers, with all their digits. */
export function deliveryText(payload: Record<string, unknown>): string {
  return JSON.stringify(payload).replace(/"((?:\w+_)?id)":"(\d+)"/g, '"$1":$2');
}
