/* Sorts and searches without a library: enough for an optimiser to inline, unroll and vectorise. */
typedef unsigned long size_t;
struct pair { int key; double value; };

static void swap(struct pair *a, struct pair *b) { struct pair c = *a; *a = *b; *b = c; }

void sort(struct pair *pairs, size_t count) {
    for (size_t end = count; end > 1; end--)
        for (size_t i = 1; i < end; i++)
            if (pairs[i - 1].key > pairs[i].key) swap(&pairs[i - 1], &pairs[i]);
}

const struct pair *find(const struct pair *pairs, size_t count, int key) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pairs[middle].key < key) low = middle + 1; else high = middle;
    }
    return low < count && pairs[low].key == key ? &pairs[low] : 0;
}

double sum(const struct pair *pairs, size_t count) {
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        switch (pairs[i].key % 5) {
        case 0: total += pairs[i].value; break;
        case 1: total -= pairs[i].value; break;
        case 2: total *= 1.5; break;
        case 3: total = total > 0 ? total : -total; break;
        default: total += 1;
        }
    }
    return total;
}
