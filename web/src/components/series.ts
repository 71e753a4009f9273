/** The colours that tell parts of a picture apart; their values are in styles.css, for light and dark. */
const seriesCount = 6

const grounds = ['bg-series-1', 'bg-series-2', 'bg-series-3', 'bg-series-4', 'bg-series-5', 'bg-series-6'] as const

/** A class for the ground of the part with this number. The last colour is for all that comes after it. */
export function seriesGround(index: number): string {
  return grounds[Math.min(index, seriesCount - 1)] ?? grounds[0]
}

/** The same as a value, for a canvas. */
export function seriesColour(index: number): string {
  return themeColour(`series-${Math.min(index, seriesCount - 1) + 1}`)
}

export function themeColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}
