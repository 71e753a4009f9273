import type { Ids } from '../../../base/ids.ts'
import type { Logger } from '../../../base/logger.ts'
import type { Database } from '../../../storage/database.ts'
import type { Tool } from '../../tool.ts'
import { createBuildFiles } from '../builds/build-files.ts'
import type { OnBuildStep } from '../builds/build-step.ts'
import type { BuilderDesk } from '../builds/builder-desk.ts'
import type { CapabilityExecutor } from '../execute/executor.ts'
import type { CapabilityGate } from '../gate/gate.ts'
import { createAskTheUser } from './ask-the-user.ts'
import { createDraftFolders } from './draft-folders.ts'
import { createHostPermission } from './host-permission.ts'
import { createRegisterCapability } from './register-capability.ts'
import { createReportProgress } from './report-progress.ts'
import { createRequestSecret } from './request-secret.ts'
import { createRunCode, createRunCommand } from './try-out.ts'
import { createWriteFile } from './write-file.ts'

/** The seven tools of the Builder (CAP-3). All of them can be called again after a crash, and none asks the loop's gate. */
export function createBuilderTools(dependencies: {
  builds: BuilderDesk
  gate: Pick<CapabilityGate, 'register'>
  executor: Pick<CapabilityExecutor, 'tryOut'>
  database: Database
  /** Drafts lie there while they are tried; nothing else may. */
  directory: string
  /** Those that the owner has declared. */
  destinations(): readonly string[]
  ids: Ids
  logger: Logger
  onStep?: OnBuildStep
}): Tool[] {
  const { builds: desk, gate, executor, database, directory, destinations, ids, logger } = dependencies
  const { onStep = () => {} } = dependencies
  const files = createBuildFiles({ database, onStep })
  const permission = createHostPermission({ desk, destinations })
  const needs = { desk, files, gate, executor, permission, logger, onStep }
  const trying = { ...needs, folders: createDraftFolders({ directory, ids }) }
  return [
    createWriteFile(needs),
    createRunCode(trying),
    createRunCommand(trying),
    createAskTheUser(needs),
    createRequestSecret(needs),
    createReportProgress(needs),
    createRegisterCapability(needs),
  ]
}
