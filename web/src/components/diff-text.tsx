import { classes } from './classes.ts'

/** A change in the unified form: what was added and taken away is marked by a sign, and coloured. */
export function DiffText({ text }: { text: string }) {
  const lines = text.replace(/\n$/, '').split('\n')
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <pre tabIndex={0} className="overflow-x-auto py-2 font-mono text-[0.8125rem] leading-relaxed">
      {lines.map((line, index) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name.
          key={index}
          className={classes('block w-max min-w-full px-3', colourOf(line))}
        >
          {line || ' '}
        </span>
      ))}
    </pre>
  )
}

function colourOf(line: string): string {
  if (line.startsWith('+++') || line.startsWith('---') || line.startsWith('@@')) return 'text-soft'
  if (line.startsWith('+')) return 'bg-accent-soft text-good'
  return line.startsWith('-') ? 'bg-bad-soft text-bad' : ''
}
