/** Drawn here, 24 units wide, in strokes: nothing is fetched and every one has the same weight. */
const drawings = {
  archive: 'M4 8h16M5 8v11h14V8M3 4h18v4H3zM10 12h4',
  arrow_down: 'M12 5v14M6 13l6 6 6-6',
  arrow_up: 'M12 19V5M6 11l6-6 6 6',
  attach: 'M20 11l-8.5 8.5a5 5 0 0 1-7-7L13 4a3.3 3.3 0 0 1 4.7 4.7l-8.4 8.4a1.6 1.6 0 0 1-2.3-2.3L14.5 7',
  bell: 'M6 16.500V11a6 6 0 0 1 12 0v5.500l1.500 1.500h-15zM10 20.500a2.200 2.200 0 0 0 4 0',
  block: 'M5 4h9l5 5v11H5zM14 4v5h5M8 13h8M8 16.5h5',
  bolt: 'M13 3 5 13.5h6L10 21l8-10.5h-6z',
  book: 'M5 4.500A1.500 1.500 0 0 1 6.500 3H19v15H6.500A1.500 1.500 0 0 0 5 19.500zM5 19.500A1.500 1.500 0 0 0 6.500 21H19v-3M9 7h6',
  brain:
    'M12 5a3 3 0 0 0-5.7-1.2A3.2 3.2 0 0 0 4 8.6 3.4 3.4 0 0 0 4.6 14 3.3 3.3 0 0 0 9 18.6a3 3 0 0 0 3 .4m0-14a3 3 0 0 1 5.7-1.2A3.2 3.2 0 0 1 20 8.6a3.4 3.4 0 0 1-.6 5.4A3.3 3.3 0 0 1 15 18.6a3 3 0 0 1-3 .4m0-14v14',
  calendar: 'M4 6h16v14H4zM4 10h16M8 3v4M16 3v4',
  check: 'M5 12.5l4.5 4.5L19 7',
  chevron_down: 'M6 9l6 6 6-6',
  chevron_left: 'M15 6l-6 6 6 6',
  chevron_right: 'M9 6l6 6-6 6',
  chip: 'M6 6h12v12H6zM10 10h4v4h-4zM9 3v3M15 3v3M9 18v3M15 18v3M3 9h3M3 15h3M18 9h3M18 15h3',
  close: 'M6 6l12 12M18 6L6 18',
  code: 'M8 8l-4 4 4 4M16 8l4 4-4 4',
  coin: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM14.5 9.2A2.8 2.8 0 0 0 12 8c-1.600 0-2.600.8-2.600 2s1 1.700 2.600 2 2.600.900 2.600 2-1 2-2.600 2a2.800 2.800 0 0 1-2.600-1.200M12 6.500V8m0 8v1.500',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  download: 'M12 4v11M7 10.500l5 5 5-5M5 20h14',
  edit: 'M4 20l1-4.500L16.500 4 20 7.500 8.500 19z',
  expand: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
  eye: 'M2.500 12S6 5.500 12 5.500 21.500 12 21.500 12 18 18.500 12 18.500 2.500 12 2.500 12zM12 9.500a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5z',
  eye_off: 'M2.500 12S6 5.500 12 5.500 21.500 12 21.500 12 18 18.500 12 18.500 2.500 12 2.500 12zM4 20L20 4',
  fit: 'M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5',
  folder: 'M3 6h6l2 2.500h10V19H3z',
  fork: 'M7 4v16M7 13h5a5 5 0 0 0 5-5V4M14 7l3-3 3 3',
  gauge: 'M4 18a9 9 0 1 1 16 0M12 14l4-5',
  gear: 'M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3v3M12 18v3M3 12h3M18 12h3M5.600 5.600l2.200 2.200M16.200 16.200l2.200 2.200M18.400 5.600l-2.200 2.200M7.800 16.200l-2.200 2.200',
  lock: 'M6 11h12v9H6zM9 11V8a3 3 0 0 1 6 0v3',
  menu: 'M4 7h16M4 12h16M4 17h16',
  microphone: 'M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM6 11a6 6 0 0 0 12 0M12 17v4',
  microphone_off:
    'M9 5.500A3 3 0 0 1 15 6v5M15 13.200A3 3 0 0 1 9 11V9M6 11a6 6 0 0 0 9.500 4.900M18 11a6 6 0 0 1-.6 2.600M12 17v4M4 4l16 16',
  minus: 'M5 12h14',
  moon: 'M20 14.500A8 8 0 0 1 9.500 4 8 8 0 1 0 20 14.500z',
  more: 'M5 12h.010M12 12h.010M19 12h.010',
  pause: 'M8 5v14M16 5v14',
  panel: 'M4 5h16v14H4zM14 5v14',
  people:
    'M9 11a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM2.500 20a6.500 6.500 0 0 1 13 0M16 4.500a3.500 3.500 0 0 1 0 6.200M18 14.500a6 6 0 0 1 3.500 5.500',
  paper_plane: 'M21 4L3 11l6 2.500M21 4l-4.500 16-7.500-6.500M21 4L9 13.500V19l3-3',
  pin: 'M9 4h6l-1 6 3 3H7l3-3zM12 13v7',
  pulse: 'M3 12h4l3-7 4 14 3-7h4',
  play: 'M7 4.500v15l12-7.500z',
  phone_end: 'M3 14.500c5-5.500 13-5.500 18 0l-2.500 2.500-3.500-1.500v-2.700a12 12 0 0 0-6 0v2.700L5.500 17z',
  captions: 'M3 5h18v14H3zM10.500 10a2 2 0 1 0 0 4M17.500 10a2 2 0 1 0 0 4',
  plus: 'M12 5v14M5 12h14',
  question:
    'M12 3.500a8.500 8.500 0 1 0 0 17 8.500 8.500 0 0 0 0-17zM9.500 10a2.500 2.500 0 1 1 3.600 2.200c-.8.400-1.100.900-1.100 1.800M12 17h.010',
  quote: 'M10 7H5v6h4c0 2.500-1.200 3.800-3.500 4.500M19 7h-5v6h4c0 2.500-1.200 3.800-3.500 4.500',
  repeat: 'M5 12V9a2 2 0 0 1 2-2h11M15 4l3 3-3 3M19 12v3a2 2 0 0 1-2 2H6M9 20l-3-3 3-3',
  search: 'M10.500 4a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13zM15.500 15.500L20 20',
  send: 'M5 12h13M12 5l7 7-7 7',
  shield: 'M12 3l8 3v6c0 4.500-3.300 7.700-8 9-4.700-1.300-8-4.500-8-9V6z',
  sound: 'M4 10v4h4l5 4V6L8 10zM16 9a4 4 0 0 1 0 6M18.500 6.500a8 8 0 0 1 0 11',
  stop: 'M7 7h10v10H7z',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500L19 19M19 5l-1.500 1.500M6.500 17.500L5 19',
  talk: 'M4 5h16v11H9l-5 4z',
  tool: 'M14.500 6.500a4 4 0 0 1 5-1l-2.600 2.600.500 2 2 .500L22 8a4 4 0 0 1-5.300 4.800L9 20.500 5.500 17 13.200 9.300a4 4 0 0 1 1.300-2.800z',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
  undo: 'M8 5L4 9l4 4M4 9h10a6 6 0 0 1 0 12h-3',
  wrap: 'M4 6h16M4 12h13a3 3 0 0 1 0 6h-4M15 15.500L12.500 18l2.500 2.500M4 18h4',
  waves: 'M4 10v4M8 7v10M12 4v16M16 7v10M20 10v4',
} as const

export type IconName = keyof typeof drawings

/** They point in the direction of reading, so they are mirrored where text runs from right to left. */
const mirrored: ReadonlySet<IconName> = new Set([
  'book',
  'chevron_left',
  'chevron_right',
  'fork',
  'quote',
  'send',
  'sound',
  'talk',
  'undo',
])

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
      className={mirrored.has(name) ? 'shrink-0 rtl:-scale-x-100' : 'shrink-0'}
    >
      <path d={drawings[name]} />
    </svg>
  )
}
