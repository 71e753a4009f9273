/** Does every job, two at a time; the results are in the order of the jobs. */
export async function inTwoLanes<Job, Result>(
  jobs: readonly Job[],
  work: (job: Job, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const waiting = jobs.entries()
  const lane = async () => {
    for (const [index, job] of waiting) results[index] = await work(job, index)
  }
  await Promise.all([lane(), lane()])
  return results
}
