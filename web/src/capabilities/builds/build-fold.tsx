import type { ReactNode } from 'react'
import { Fold } from '../../components/fold.tsx'
import type { IconName } from '../../components/icon.tsx'
import { Failure } from '../../components/notice.tsx'
import { Link } from '../../shell/link.tsx'
import { BuildProgress } from './build-progress.tsx'
import { useBuild } from './use-build.ts'

/** A build within a conversation: open while it runs, one line when it has ended. */
export function BuildFold(props: { id: string; icon: IconName; title: string; children: ReactNode }) {
  const { id, icon, title, children } = props
  const { story, isLoaded, error } = useBuild(id)
  return (
    <Fold
      icon={icon}
      title={story.end === 'complete' ? 'Built a tool' : title}
      detail={story.lines.at(-1)?.text ?? ''}
      isActive={isLoaded && story.end === null}
      isBad={story.end === 'error'}
      opensWhileActive
    >
      {error ? <Failure error={error} /> : <BuildProgress id={id} story={story} />}
      <Link href={`/capabilities?build=${id}`} className="mt-2 inline-block text-sm text-accent hover:underline">
        Look at the build
      </Link>
      {children}
    </Fold>
  )
}
