# SPDX-License-Identifier: BSD-3-Clause
# Rows of plan/table.txt as initializers of struct cg_row (plan/choose.h). What is wrong there does not compile.
function number(word) {
    if (word == "max") return "MAX"
    if (word ~ /K$/) return "(" (word + 0) "ull << 10)"
    if (word ~ /M$/) return "(" (word + 0) "ull << 20)"
    if (word ~ /G$/) return "(" (word + 0) "ull << 30)"
    return word "ull"
}
function range(word, max,    n, part) {
    if (word == "any") return "{0, " max "}"
    n = split(word, part, "-")
    if (part[n] == "max") return "{" number(part[1]) ", " max "}"
    return "{" number(part[1]) ", " number(part[n]) "}"
}
function id(word) { return toupper(word) }
/^[ \t]*(#|$)/ { next }
{
    sub(/#.*/, "")
    printf "{.coll = CG_COLL_%s, .at = CG_AT_%s, .via = CG_VIA_%s, .protocol = %s, .blocks = %d,\n",
        id($1), id($2), id($3), $7 == "general" ? "CG_GENERAL" : "CG_FAST_" id($7), $8
    printf " .ranks = %s, .bytes = %s, .plan = %s, .source = \"built-in\", .line = %d},\n",
        range($4, "UINT32_MAX"), range($5, "MAX"), $6 == "-" ? "0" : "\"" $6 "\"", NR
}
