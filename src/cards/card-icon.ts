const iconName = /(?:^|\s)(fa-[a-z0-9]{1,30}(?:-[a-z0-9]{1,30}){0,5})$/
const emoji = /^\p{Extended_Pictographic}|^\p{Regional_Indicator}{2}$/u
const segmenter = new Intl.Segmenter()

/** An emoji, or the name of an icon as manifests write it (`fa-star`, `fas fa-star`); never an address to load. */
export function cardIcon(text: string | null | undefined): string | null {
  const icon = text?.trim() ?? ''
  if (icon.length === 0 || icon.length > 64) return null
  const name = iconName.exec(icon)?.[1]
  if (name) return name
  return emoji.test(icon) && [...segmenter.segment(icon)].length === 1 ? icon : null
}

/** Names of icons are names of a font that no card may load: the common ones have an emoji that says the same. */
const pictures: Readonly<Record<string, string>> = {
  bell: '🔔',
  bolt: '⚡',
  book: '📖',
  calculator: '🧮',
  calendar: '📅',
  chart: '📊',
  check: '✅',
  clock: '🕑',
  cloud: '☁️',
  code: '💻',
  coins: '🪙',
  envelope: '✉️',
  exclamation: '⚠️',
  file: '📄',
  film: '🎬',
  fire: '🔥',
  globe: '🌐',
  heart: '❤️',
  home: '🏠',
  house: '🏠',
  image: '🖼️',
  key: '🔑',
  language: '🔤',
  lightbulb: '💡',
  link: '🔗',
  list: '📋',
  lock: '🔒',
  location: '📍',
  magnifying: '🔎',
  map: '🗺️',
  moon: '🌙',
  music: '🎵',
  newspaper: '📰',
  search: '🔎',
  star: '⭐',
  sun: '☀️',
  tag: '🏷️',
  temperature: '🌡️',
  train: '🚆',
  user: '👤',
  wrench: '🔧',
}

/** The icon as a character to show; undefined where it has none. */
export function iconPicture(icon: string | null): string | undefined {
  if (icon === null || !icon.startsWith('fa-')) return icon ?? undefined
  const [first = ''] = icon.slice('fa-'.length).split('-')
  return Object.hasOwn(pictures, first) ? pictures[first] : undefined
}
