// A cohort by processes of Nextflow. Each is a worker; they share the inputs by claims in the folder of results.
//
//   nextflow run examples/cohort/main.nf --inputs scans --results masks --workers 8 --command 'segment {} -o {out}_mask.nii.gz'
//
// A process that is lost is started again (maxRetries), and what it had in work is done by the others. Started once more,
// only what is missing is done.
params.inputs = null
params.results = null
params.command = null
params.workers = 4

process worker {
    cpus 4
    errorStrategy 'retry'
    maxRetries 2
    cache false

    input:
    val number

    script:
    """
    warploom cohort '${file(params.inputs)}' -o '${file(params.results)}' --threads ${task.cpus} -- ${params.command}
    """
}

workflow {
    if (!params.inputs || !params.results || !params.command) {
        error "say --inputs FOLDER --results FOLDER --command 'VERB {} ...'"
    }
    Channel.of(1..params.workers) | worker
}
