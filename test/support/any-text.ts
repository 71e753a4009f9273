import fc from 'fast-check'

/** Any string that JavaScript can hold, halves of pairs and control characters included. */
export const anyText = fc.string({
  unit: fc.oneof(
    fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code)),
    fc.nat({ max: 0x7f }).map((code) => String.fromCharCode(code)),
  ),
})
