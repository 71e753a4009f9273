import { classes } from '../../components/classes.ts'
import { Icon, type IconName } from '../../components/icon.tsx'
import type { StoryLine } from './build-story.ts'

const icons: Record<StoryLine['kind'], IconName> = {
  progress: 'chevron_right',
  file: 'block',
  failure: 'close',
  question: 'talk',
  answer: 'people',
  complete: 'check',
  error: 'close',
}

/** What a build did, line by line, newest last. */
export function BuildLines({ lines }: { lines: readonly StoryLine[] }) {
  return (
    <ol aria-label="What it did" className="space-y-1.5 text-sm">
      {lines.map(({ seq, at, kind, text }) => (
        <li
          key={seq}
          className={classes(
            'flex items-start gap-2',
            kind === 'progress' || kind === 'file' ? 'text-soft' : '',
            (kind === 'error' || kind === 'failure') && 'text-bad',
            kind === 'complete' && 'font-medium text-good',
          )}
        >
          <span className="mt-0.5">
            <Icon name={icons[kind]} size={16} />
          </span>
          <span className="min-w-0 flex-1 whitespace-pre-wrap">{text}</span>
          <time dateTime={at} className="text-xs tabular-nums text-soft">
            {new Date(at).toLocaleTimeString()}
          </time>
        </li>
      ))}
    </ol>
  )
}
