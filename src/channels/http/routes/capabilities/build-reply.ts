import type { BuildQuestionReply, BuildReply } from '../../../../protocol/build-api.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import type { Build, BuildQuestion, Builds } from '../../../../tools/capabilities/builds/builds.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpContext } from '../../http-dependencies.ts'
import { isoTime } from '../../iso-time.ts'

/** The user's own build of that id. Another user's is as unknown as one that never was (SEC-22). */
export async function findBuild(builds: Builds, context: HttpContext, id: string): Promise<Build> {
  const build = await builds.find(callerOf(context).userId, id)
  if (!build) throw new FamiliarError('not_found', `There is no build ${id.slice(0, 200)}.`)
  return build
}

export function buildReply(build: Build): BuildReply {
  const { id, name, kind, state, request, sessionId, error } = build
  return {
    id,
    name,
    kind,
    state,
    description: request.description,
    session_id: sessionId,
    error,
    created_at: isoTime(build.createdAt),
    ended_at: build.endedAt === null ? null : isoTime(build.endedAt),
  }
}

export function questionReply(asked: BuildQuestion): BuildQuestionReply {
  const { id, buildId, name, kind, question, secret } = asked
  return {
    id,
    build_id: buildId,
    name,
    kind,
    question,
    secret,
    is_untrusted: asked.isUntrusted,
    asked_at: isoTime(asked.askedAt),
    expires_at: isoTime(asked.expiresAt),
  }
}
