/**
 * The durable steps of a build. The crash suite kills the process at each one; nothing else may depend on them.
 *
 * `registering` lies inside the unit that makes a version serve: its directory is there, and no row names it yet.
 * `secret_sealed` lies between the vault and the answer.
 */
export const buildStepNames = [
  'build_written',
  'build_begun',
  'file_written',
  'trying_out',
  'question_written',
  'answer_written',
  'secret_sealed',
  'registering',
  'registered',
  'end_written',
] as const

export type BuildStepName = (typeof buildStepNames)[number]
export type OnBuildStep = (step: BuildStepName) => void
