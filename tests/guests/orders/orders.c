/* Orders for a stock that must not be sold out, drawn by four versions of one generator. EDIT says which: 0 as it was first,
 * 1 with its alternatives in another order, 2 with a draw in front, 3 with other bounds. What is checked stays. */
#include "../../../guest-sdk/c/fuzzbox.h"

#ifndef EDIT
#define EDIT 0
#endif
#define ORDERS_MAX 10

enum kind { BUY, SELL, CANCEL };

struct order {
    uint32_t kind;
    uint32_t amount;
};

static struct order draw_order(void) {
#if EDIT == 1
    static const enum kind kinds[] = {CANCEL, BUY, SELL};
#else
    static const enum kind kinds[] = {BUY, SELL, CANCEL};
#endif
#if EDIT == 3
    const uint64_t least = 10, most = 50;
#else
    const uint64_t least = 0, most = 100;
#endif
    struct order order = {kinds[fbx_choice(3, 0)], 0};
    if (order.kind != CANCEL) order.amount = (uint32_t)fbx_uint(least, most, 0);
    return order;
}

static uint32_t draw_orders(struct order *orders) {
    uint32_t count = 0;
#if EDIT == 2
    uint32_t limit = (uint32_t)fbx_uint(1, 1000, 0);
#endif
    fbx_span_begin(fbx_label("orders"));
    while (fbx_more(0, ORDERS_MAX, 4 * 256)) {
        fbx_span_begin(fbx_label("order"));
        orders[count++] = draw_order();
        fbx_span_end(0);
    }
    fbx_span_end(0);
#if EDIT == 2
    if (count > limit) count = limit;
#endif
    return count;
}

static void check(const struct order *orders, uint32_t count) {
    int64_t stock = 0;
    for (uint32_t at = 0; at < count; at++) {
        if (orders[at].kind == BUY) stock += orders[at].amount;
        if (orders[at].kind == SELL) stock -= orders[at].amount;
        if (stock < 0) fbx_fail("sold what was not there");
    }
}

FBX_PROPERTY(orders) {
    struct order orders[ORDERS_MAX];
    uint32_t count = draw_orders(orders);
    fbx_value(1, 0, orders, count * sizeof *orders);
    check(orders, count);
}

/* The same, without a value to outlive the generator. */
FBX_PROPERTY(orders_alone) {
    struct order orders[ORDERS_MAX];
    check(orders, draw_orders(orders));
}

static struct order given[ORDERS_MAX];

__attribute__((export_name("fbx_alloc"))) void *fbx_alloc(uint32_t len) {
    if (len > sizeof given) fbx_reject("too many orders");
    return given;
}

__attribute__((export_name("fbx_check_orders"))) void fbx_check_orders(const struct order *orders, uint32_t len) {
    if (len % sizeof *orders) fbx_reject("half an order");
    check(orders, len / sizeof *orders);
}
