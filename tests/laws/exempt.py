"""Laws that do not run on a backend, and why."""

NOT_ROLLED = "matrices and steps of configurations have no rolled form"
COUPLED = "coupled models have no rolled form"
FINITE_DIFFERENCES = "finite differences need the digits of doubles"
SMALL_DRIFT = "the drift of energy is far below the rounding of single floats"
GIMBAL_LOCK = "single floats do not hold an angle that close to gimbal lock"

EXEMPT: dict[str, dict[str, str]] = {
    "test_difference_undoes_integrate": {"rolled": NOT_ROLLED},
    "test_no_increment_means_no_motion": {"rolled": NOT_ROLLED},
    "test_time_scales_the_increment": {"rolled": NOT_ROLLED},
    "test_integrated_quaternions_stay_of_unit_length": {"rolled": NOT_ROLLED},
    "test_position_rate_is_the_rate_of_integrate": {
        "rolled": NOT_ROLLED,
        "float32": FINITE_DIFFERENCES,
    },
    "test_position_rate_is_the_velocity_but_for_ball_and_free_joints": {"rolled": NOT_ROLLED},
    "test_free_joint_increments_come_back_for_turns_of_every_size": {"rolled": NOT_ROLLED},
    "test_opposite_quaternions_are_no_difference": {"rolled": NOT_ROLLED},
    "test_mass_matrix_is_symmetric_and_positive_definite": {"rolled": NOT_ROLLED},
    "test_inverse_mass_matrix_is_the_inverse": {"rolled": NOT_ROLLED},
    "test_inverse_dynamics_derivatives_are_the_derivatives": {"rolled": NOT_ROLLED},
    "test_the_derivative_by_accelerations_is_the_mass_matrix": {"rolled": NOT_ROLLED},
    "test_the_derivative_by_velocities_is_twice_the_coriolis_matrix": {"rolled": NOT_ROLLED},
    "test_the_derivative_of_gravity_is_symmetric": {"rolled": NOT_ROLLED},
    "test_moving_a_free_base_along_changes_nothing": {"rolled": NOT_ROLLED},
    "test_weights_contract_the_second_derivatives": {"rolled": NOT_ROLLED},
    "test_reduced_mass_matrix_is_t_transposed_m_t": {"rolled": COUPLED},
    "test_forward_dynamics_inverts_inverse_dynamics_under_couplings": {"rolled": COUPLED},
    "test_inverse_mass_matrix_inverts_the_reduced_mass_matrix": {"rolled": COUPLED},
    "test_kinetic_energy_is_that_of_the_reduced_mass_matrix": {"rolled": COUPLED},
    "test_rate_of_energy_is_the_power_of_reduced_forces": {"rolled": COUPLED},
    "test_jacobians_are_reduced_too": {"rolled": COUPLED},
    "test_coriolis_matrix_is_reduced_too": {"rolled": COUPLED, "float32": FINITE_DIFFERENCES},
    "test_integrate_moves_the_free_joints_and_the_followers_follow": {"rolled": COUPLED},
    "test_gimbal_lock_spoils_its_own_row_and_warns_once_naming_the_joint": {"float32": GIMBAL_LOCK},
    "test_gimbal_lock_spoils_its_own_row_of_the_inverse_mass_matrix": {
        "rolled": NOT_ROLLED,
        "float32": GIMBAL_LOCK,
    },
    "test_a_microradian_from_gimbal_lock_is_not_flagged": {"float32": GIMBAL_LOCK},
    "test_a_rotor_keeps_the_wrist_regular_at_gimbal_lock": {"float32": GIMBAL_LOCK},
    "test_energy_is_kept_along_a_simulated_swing": {"float32": SMALL_DRIFT},
}
"""Law: backend: why it does not run there."""
