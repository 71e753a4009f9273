import { useEffect, useRef } from 'react'
import { BuildLines } from './build-lines.tsx'
import { BuildQuestion } from './build-question.tsx'
import type { BuildStory } from './build-story.ts'
import { StopBuild } from './stop-build.tsx'

/** A build while it happens and ever after: what it writes, tries and asks. */
export function BuildProgress({ id, story, isTall = false }: { id: string; story: BuildStory; isTall?: boolean }) {
  const box = useRef<HTMLDivElement>(null)

  // biome-ignore lint/correctness/useExhaustiveDependencies: the newest line is what one wants to see.
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight
  }, [story.lines.length])

  return (
    <div className="space-y-3">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <div ref={box} tabIndex={0} className={isTall ? '' : 'max-h-60 overflow-y-auto'}>
        <BuildLines lines={story.lines} />
      </div>
      <p className="sr-only" role="status">
        {story.lines.at(-1)?.text}
      </p>
      {story.open.map((question) => (
        <BuildQuestion key={question.id} question={question} />
      ))}
      {story.end === null && (
        <div className="flex items-center justify-between gap-2 text-sm text-soft">
          <span className="breathing">{story.open.length > 0 ? 'It waits for you …' : 'Working on it …'}</span>
          <StopBuild id={id} />
        </div>
      )}
    </div>
  )
}
