#!/bin/sh
# What operations give on fixed inputs is what is on record, in tests/hashes.tsv: a change of bits
# shows in the commit that made it. usage: check_hashes.sh SRCDIR
# EK_UPDATE=1 writes the record anew. EK_FEW_OPS=1: not every operation is in this build.
record=$1/tests/hashes.tsv
found=$(mktemp) || exit 1
trap 'rm -f "$found"' EXIT
LC_ALL=C
export LC_ALL
./einkorn verify --hashes >"$found" || exit 1
if [ -n "$EK_UPDATE" ]; then
    cp "$found" "$record"
fi

# Rows of the record are operation, dtype, hash; the order does not matter.
awk -F '\t' -v few="$EK_FEW_OPS" '
    NR == FNR { hash[$1 " " $2] = $3; next }
    {
        name = $1 " " $2
        if (!(name in hash))
            print name ": not on record"
        else if (hash[name] != $3)
            print name ": other bits than on record"
        bad += hash[name] != $3
        good += hash[name] == $3
        delete hash[name]
    }
    END {
        for (name in hash)
            if (!few) {
                print name ": on record, but gone"
                bad++
            }
        print "ek-counts: " good + 0 " " bad + 0 " 0"
        exit bad > 0
    }' "$record" "$found"
