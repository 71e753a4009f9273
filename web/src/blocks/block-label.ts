/** Where blocks lie; what stands behind it is their label. */
const root = 'familiar:///blocks/'

export function labelOf(path: string): string {
  return path.startsWith(root) ? path.slice(root.length) : path
}

/** As a command names it, whatever is in the label. */
export const addressOf = (label: string) => `${root}${label}`

/** Where the API has it. */
export const apiPath = (label: string) => `/blocks/${encodeURIComponent(label)}`

/** Where the page shows it. */
export const placeOf = (label: string) => `/blocks/${encodeURIComponent(label)}`
