const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|^\p{Emoji_Presentation}|^[\u{20000}-\u{3fffd}]/u

/** Made when it is first needed: it takes ten milliseconds, which most commands can do without. */
let segmenter: Intl.Segmenter | undefined

function segmentsOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter()
  return segmenter.segment(text)
}

/** How many columns of a terminal the text takes. Hand in only text that is fit for display. */
export function displayWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of segmentsOf(text)) width += segmentWidth(segment)
  return width
}

/** At most `columns` wide; what is cut off is marked with an ellipsis. */
export function fitWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text
  let kept = ''
  let width = 0
  for (const { segment } of segmentsOf(text)) {
    width += segmentWidth(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return `${kept}…`
}

function segmentWidth(segment: string): number {
  if (/^[\p{M}\p{C}]/u.test(segment)) return 0
  return wide.test(segment) || segment.includes('\ufe0f') ? 2 : 1
}
